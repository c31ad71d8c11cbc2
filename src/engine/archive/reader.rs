//! Reads the files of an archive. An error names the file, the line and the problem.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;

use super::times::{self, Timed};
use crate::domain::Timestamp;

/// The file of what belongs to no task and has no file of its own.
pub(super) const LEDGER: &str = "ledger.json";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile {
    /// Relative to the archive.
    pub file: PathBuf,
    /// The line of the problem, if it is on one line.
    pub line: Option<usize>,
    pub message: String,
}

impl std::error::Error for BadFile {}

impl std::fmt::Display for BadFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A line break in a name must not look like another message.
        let file = self.file.to_string_lossy();
        let file = file.replace(char::is_control, "\u{fffd}");
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {}", self.message),
            None => write!(f, "{file}: {}", self.message),
        }
    }
}

/// A directory written by `chorus export` or a compatible program.
#[derive(Debug, Clone)]
pub(super) struct ArchiveDir {
    path: PathBuf,
    /// The time of the import.
    now: Timestamp,
}

impl ArchiveDir {
    pub fn new(path: &Path, now: Timestamp) -> Self {
        Self {
            path: path.to_owned(),
            now,
        }
    }

    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.path.join(file)
    }

    /// Reads a JSON file. Unknown keys are an error, because their values would be lost.
    pub fn read<T: DeserializeOwned>(&self, file: &Path) -> Result<T, BadFile> {
        let bad = |line, message| BadFile {
            file: file.to_owned(),
            line,
            message,
        };
        let Some(bytes) = self.bytes(file)? else {
            return Err(bad(None, "is missing".to_owned()));
        };
        let mut unknown: Option<String> = None;
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_ignored::deserialize(&mut json, |path| {
            unknown.get_or_insert_with(|| path.to_string());
        })
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| {
            bad(
                Some(error.line()).filter(|line| *line > 0),
                without_place(&error),
            )
        })?;
        match unknown {
            None => Ok(value),
            Some(path) => Err(bad(
                line_of_key(&bytes, &path),
                format!("unknown key `{path}`"),
            )),
        }
    }

    /// Reads a JSON file with times, and checks them.
    pub fn read_timed<T: DeserializeOwned + Timed>(&self, file: &Path) -> Result<T, BadFile> {
        let value = self.read::<T>(file)?;
        match times::problem_of(&value, self.now) {
            None => Ok(value),
            Some(message) => Err(BadFile {
                file: file.to_owned(),
                line: None,
                message,
            }),
        }
    }

    /// Reads a JSON file that an archive need not have.
    pub fn read_if_present<T: DeserializeOwned + Timed>(
        &self,
        file: &Path,
    ) -> Result<Option<T>, BadFile> {
        if self.path(file).symlink_metadata().is_err() {
            return Ok(None);
        }
        self.read_timed(file).map(Some)
    }

    /// Returns the content of a file, or `None` if there is none. Only plain files are read, because a pipe or a device never ends, and
    /// a symbolic link may lead out of the archive.
    pub fn bytes(&self, file: &Path) -> Result<Option<Vec<u8>>, BadFile> {
        let bad = |message: String| BadFile {
            file: file.to_owned(),
            line: None,
            message,
        };
        let Some(opened) = self.open(file)? else {
            return Ok(None);
        };
        let metadata = opened.metadata().ok();
        let Some(metadata) = metadata.filter(std::fs::Metadata::is_file) else {
            return Err(bad("is not a plain file".to_owned()));
        };
        let (size, limit) = (metadata.len(), limit_of(file));
        if size > limit {
            return Err(bad(format!(
                "has {size} bytes, which is more than the limit of {limit}"
            )));
        }
        let mut bytes = Vec::new();
        // The file may grow meanwhile.
        opened
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| bad(error.to_string()))?;
        Ok(Some(bytes))
    }

    /// Opens a file or folder below the archive without following symbolic links.
    fn open(&self, file: &Path) -> Result<Option<File>, BadFile> {
        let mut below = PathBuf::new();
        for step in file.components() {
            below.push(step);
            let bad = |message: &str| BadFile {
                file: below.clone(),
                line: None,
                message: message.to_owned(),
            };
            match self.path(&below).symlink_metadata() {
                Ok(found) if found.is_symlink() => {
                    return Err(bad("is a symbolic link; replace it by the file itself"));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(bad(&error.to_string())),
            }
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.path(file));
        opened.map(Some).map_err(|error| BadFile {
            file: file.to_owned(),
            line: None,
            message: error.to_string(),
        })
    }

    /// Lists the names in a folder, sorted. A missing folder has none.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, BadFile> {
        let bad = |message: String| BadFile {
            file: folder.into(),
            line: None,
            message,
        };
        let Some(opened) = self.open(Path::new(folder))? else {
            return Ok(Vec::new());
        };
        if !opened.metadata().is_ok_and(|opened| opened.is_dir()) {
            return Err(bad("is not a folder".to_owned()));
        }
        let path = self.path(folder);
        let mut names = Vec::new();
        for entry in path.read_dir().map_err(|error| bad(error.to_string()))? {
            let name = entry.map_err(|error| bad(error.to_string()))?.file_name();
            names.push(
                name.into_string()
                    .map_err(|name| bad(format!("{} is not UTF-8", name.display())))?,
            );
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Returns the maximum size of a file in bytes, because files are read at once.
fn limit_of(file: &Path) -> u64 {
    const OF_A_ROW: u64 = 1_000_000_000;
    const OF_TIMES_AND_TAGS: u64 = 256_000_000;
    const OF_AN_AGENT: u64 = 64_000_000;
    let starts_with = |folder: &&str| file.starts_with(folder);
    if file == Path::new(LEDGER) {
        OF_TIMES_AND_TAGS
    } else if ["agents", "tools", "dispatch"].iter().any(starts_with) {
        OF_AN_AGENT
    } else {
        OF_A_ROW
    }
}

/// Removes the line and column, which [`BadFile`] shows after the file's name.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(place) => message[..place].to_owned(),
        None => message,
    }
}

/// Finds the first line with the last key of a path.
fn line_of_key(bytes: &[u8], path: &str) -> Option<usize> {
    let key = serde_json::to_string(path.rsplit('.').next()?).ok()?;
    let at = bytes
        .windows(key.len())
        .position(|window| window == key.as_bytes())?;
    Some(bytes[..at].split(|byte| *byte == b'\n').count())
}
