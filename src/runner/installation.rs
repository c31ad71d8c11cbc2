//! The identity of an installation, by which a server recognises its own runs.
//!
//! A copy of a data directory has the same ledger with the same runs, and the original's agents may still be working. The
//! identity is therefore a property that no copy shares: inode and birth time of the directory. A renamed directory keeps both.

use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

use crate::config::DataDir;
use crate::domain::RunId;
use crate::ledger::run::ClaimedRun;

/// The environment variable that marks every process of a run.
pub(super) const MARK: &str = "CHORUS_RUN";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Installation {
    path: String,
    id: String,
}

impl Installation {
    pub fn of(data_dir: &DataDir) -> std::io::Result<Self> {
        let directory = data_dir.path().metadata()?;
        let birth = directory
            .created()
            .ok()
            .and_then(|birth| birth.duration_since(UNIX_EPOCH).ok());
        // A file system without birth times is told apart by its device.
        let origin = birth.map_or(u128::from(directory.dev()), |birth| birth.as_nanos());
        Ok(Self {
            path: data_dir.path().to_string_lossy().into_owned(),
            id: format!("{:x}-{origin:x}", directory.ino()),
        })
    }

    /// Returns the name that is recorded with a claimed run: the path for people, and the identity.
    pub fn name(&self) -> String {
        format!("{}#{}", self.path, self.id)
    }

    /// Whether this installation claimed a run. Earlier versions recorded only the path.
    pub fn has_claimed(&self, run: &ClaimedRun) -> bool {
        run.claimed_in.as_deref().is_some_and(|name| {
            name == self.path || name.rsplit_once('#').is_some_and(|(_, id)| id == self.id)
        })
    }

    /// Returns the value of [`MARK`] for the processes of a run.
    pub fn mark(&self, run_id: &RunId) -> String {
        format!("{}/{run_id}", self.id)
    }

    /// Returns the run of a mark, if the mark was made by this installation.
    pub fn marked_run(&self, mark: &str) -> Option<RunId> {
        let (id, run_id) = mark.split_once('/')?;
        (id == self.id).then(|| RunId::parse(run_id).ok()).flatten()
    }
}
