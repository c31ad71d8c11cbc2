//! Reads the files of an archive. An error names the file, the line and the problem.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

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
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.message),
            None => write!(f, "{}: {}", self.file.display(), self.message),
        }
    }
}

/// A directory written by `chorus export` or a compatible program.
#[derive(Debug, Clone)]
pub(super) struct ArchiveDir(PathBuf);

impl ArchiveDir {
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.0.join(file)
    }

    /// Reads a JSON file. Unknown keys are an error, because their values would be lost.
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

    /// Lists the names in a folder, sorted. A missing folder has none.
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
