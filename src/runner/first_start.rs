//! The first start of OpenCode for a user.
//!
//! OpenCode creates its database when it starts, and fails if another one does so at the same time. So before the first runs, while
//! there is no database, one command that only lists sessions is run alone.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::providers::{CommandLine, prepare};
use super::run_dir::Inherited;
use crate::domain::Provider;

/// The databases for which the command was run by this server.
#[derive(Debug, Default)]
pub(super) struct FirstStarts(Mutex<HashSet<PathBuf>>);

impl FirstStarts {
    /// Creates the database of a provider, if it needs one and has none. Called for one run at a time.
    pub fn prepare(&self, provider: Provider, line: &CommandLine, inherited: &Inherited) {
        if provider != Provider::OpenCode {
            return;
        }
        let Some(database) = database(line, inherited) else {
            return;
        };
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !database.exists() && tried.insert(database) {
            prepare(line, inherited);
        }
    }
}

fn database(line: &CommandLine, inherited: &Inherited) -> Option<PathBuf> {
    let variable = |name: &str| {
        let own = line.environment.get(name).map(OsString::from);
        own.or_else(|| {
            let found = inherited
                .iter()
                .find(|(known, _)| known == OsStr::new(name));
            found.map(|(_, value)| value.clone())
        })
    };
    let data = variable("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(Path::new(&variable("HOME")?).join(".local/share")))?;
    Some(data.join("opencode/opencode.db"))
}
