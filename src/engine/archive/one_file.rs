//! What an archive has one file each of, named by its id: requests, alerts, increments and mail.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::reader::{ArchiveDir, BadFile};
use crate::domain::{Alert, Increment, Mail, Request, Timestamp};

/// How many bytes such a file has at most: as many as a row.
const LARGEST: u64 = 1_000_000_000;

/// Something that has a file of its own.
pub(super) trait OneFile: Serialize + DeserializeOwned + Send + 'static {
    /// The folder.
    const FOLDER: &'static str;
    /// What it is called.
    const NOUN: &'static str;
    /// Returns its id.
    fn id(&self) -> &str;
    /// Returns when it came to be.
    fn since(&self) -> Timestamp;
    /// Says what does not fit together.
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

/// Returns the file of something, from the directory of the archive.
pub(super) fn file_of<T: OneFile>(id: &str) -> PathBuf {
    Path::new(T::FOLDER).join(format!("{id}.json"))
}

/// Reads and checks a file.
pub(super) fn read<T: OneFile>(archive: &ArchiveDir, file: &Path) -> Result<T, BadFile> {
    let bad = |message: String| BadFile {
        file: file.to_owned(),
        line: None,
        message,
    };
    let size = archive.path(file).metadata().map(|file| file.len());
    if let Ok(size) = size
        && size > LARGEST
    {
        return Err(bad(format!(
            "has {size} bytes, and cannot be stored: at most {LARGEST} are possible"
        )));
    }
    let item: T = archive.read(file)?;
    let (noun, id) = (T::NOUN, item.id());
    if file != file_of::<T>(id) {
        return Err(bad(format!(
            "holds the {noun} {id}, so it must be called {id}.json"
        )));
    }
    match item.problem() {
        Some(problem) => Err(bad(problem)),
        None => Ok(item),
    }
}

/// Something that can be imported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Planned {
    /// What it is put in order by.
    since: Timestamp,
    /// Its id.
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

/// Reads all files of a folder. Returns what can be imported, oldest first, and what is bad; the caller may know more
/// that is wrong with one.
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
