//! Reads files of an archive, and says of a bad one what is wrong and where.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// A file that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile {
    /// The file, from the directory of the archive.
    pub file: PathBuf,
    /// The line, if it is one line's fault.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl std::error::Error for BadFile {}

impl std::fmt::Display for BadFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.message),
            None => write!(f, "{}: {}", self.file.display(), self.message),
        }
    }
}

/// A directory that `chorus export` wrote, or somebody like it.
#[derive(Debug, Clone)]
pub(super) struct ArchiveDir(PathBuf);

impl ArchiveDir {
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Returns a path in it.
    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.0.join(file)
    }

    /// Reads a JSON file. Keys that nobody knows are an error: they would be lost.
    pub fn read<T: DeserializeOwned>(&self, file: &Path) -> Result<T, BadFile> {
        let bad = |line, message| BadFile {
            file: file.to_owned(),
            line,
            message,
        };
        let bytes = std::fs::read(self.path(file)).map_err(|error| bad(None, error.to_string()))?;
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

    /// Lists the names in a folder, sorted; none if it is not there.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, BadFile> {
        let bad = |message: String| BadFile {
            file: folder.into(),
            line: None,
            message,
        };
        let path = self.path(folder);
        if !path.exists() {
            return Ok(Vec::new());
        }
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

/// Leaves out the place, which the file's name already carries.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(place) => message[..place].to_owned(),
        None => message,
    }
}

/// Finds the line on which the last key of a path first stands.
fn line_of_key(bytes: &[u8], path: &str) -> Option<usize> {
    let key = serde_json::to_string(path.rsplit('.').next()?).ok()?;
    let at = bytes
        .windows(key.len())
        .position(|window| window == key.as_bytes())?;
    Some(bytes[..at].split(|byte| *byte == b'\n').count())
}
