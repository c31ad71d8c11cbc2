//! Items with one file each, named by id: requests, alerts, increments and mail.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::reader::{ArchiveDir, BadFile};
use super::times::Timed;
use crate::domain::{Alert, Increment, Mail, Request, Timestamp};

/// An item with its own file.
pub(super) trait OneFile: Serialize + DeserializeOwned + Timed + Send + 'static {
    const FOLDER: &'static str;
    const NOUN: &'static str;
    fn id(&self) -> &str;
    /// Returns the creation time, which orders the import.
    fn since(&self) -> Timestamp;
    /// Describes an inconsistency, if there is one.
    fn problem(&self) -> Option<String>;
}

impl OneFile for Request {
    const FOLDER: &'static str = "requests";
    const NOUN: &'static str = "request";

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn since(&self) -> Timestamp {
        self.created_at
    }

    fn problem(&self) -> Option<String> {
        self.check().err()
    }
}

impl OneFile for Alert {
    const FOLDER: &'static str = "alerts";
    const NOUN: &'static str = "alert";

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn since(&self) -> Timestamp {
        self.raised_at
    }

    fn problem(&self) -> Option<String> {
        self.check().err().map(str::to_owned)
    }
}

impl OneFile for Increment {
    const FOLDER: &'static str = "increments";
    const NOUN: &'static str = "increment";

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn since(&self) -> Timestamp {
        self.created_at
    }

    fn problem(&self) -> Option<String> {
        self.check().err().map(str::to_owned)
    }
}

impl OneFile for Mail {
    const FOLDER: &'static str = "mail";
    const NOUN: &'static str = "mail";

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn since(&self) -> Timestamp {
        self.sent_at
    }

    fn problem(&self) -> Option<String> {
        self.check().err()
    }
}

/// Returns the file of an item, relative to the archive.
pub(super) fn file_of<T: OneFile>(id: &str) -> PathBuf {
    Path::new(T::FOLDER).join(format!("{id}.json"))
}

pub(super) fn read<T: OneFile>(archive: &ArchiveDir, file: &Path) -> Result<T, BadFile> {
    let bad = |message: String| BadFile {
        file: file.to_owned(),
        line: None,
        message,
    };
    let item: T = archive.read_timed(file)?;
    let (noun, id) = (T::NOUN, item.id());
    if file != file_of::<T>(id) {
        return Err(bad(format!(
            "contains the {noun} {id}; rename it to {id}.json"
        )));
    }
    match item.problem() {
        Some(problem) => Err(bad(problem)),
        None => Ok(item),
    }
}

/// An item that passed the check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Planned {
    /// First, because it is the sort key.
    since: Timestamp,
    pub id: String,
}

impl Planned {
    pub fn new(item: &impl OneFile) -> Self {
        Self {
            since: item.since(),
            id: item.id().to_owned(),
        }
    }
}

/// Checks all files of a folder. Returns the importable items, oldest first, and adds the others to `bad`. `more` is an additional
/// check of the caller.
pub(super) fn check_all<T: OneFile>(
    archive: &ArchiveDir,
    bad: &mut Vec<BadFile>,
    more: impl Fn(&T) -> Option<String>,
) -> Vec<Planned> {
    let names = match archive.names(T::FOLDER) {
        Ok(names) => names,
        Err(problem) => {
            bad.push(problem);
            return Vec::new();
        }
    };
    let mut planned = Vec::new();
    for name in names {
        let file = Path::new(T::FOLDER).join(name);
        let item = read::<T>(archive, &file).and_then(|item| match more(&item) {
            None => Ok(item),
            Some(message) => Err(BadFile {
                file,
                line: None,
                message,
            }),
        });
        match item {
            Ok(item) => planned.push(Planned::new(&item)),
            Err(problem) => bad.push(problem),
        }
    }
    planned.sort_unstable();
    planned
}
