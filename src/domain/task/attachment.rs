//! Attachments: files of a task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::text::checked_string::checked_string;
use crate::domain::text::id;
use crate::domain::{TaskId, Text, Timestamp};

id::id! {
    /// The id of an attachment. It names the folder with the bytes.
    AttachmentId
}

/// The folder with the bytes of an attachment. Attachments of several tasks may use one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentFolder {
    pub task_id: TaskId,
    pub id: AttachmentId,
}

/// A file of a task. Its bytes are on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The name, unique within the task.
    pub filename: Filename,
    /// The size in bytes.
    pub size: u64,
    /// The media type.
    pub content_type: Text,
    /// The time of the upload.
    pub uploaded_at: Timestamp,
}

/// A file name that cannot leave its folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String)]
pub struct Filename(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalFilename {
    #[error("must not be empty")]
    Empty,
    #[error("must not be longer than 255 bytes")]
    TooLong,
    #[error("must be a plain file name: no `/` or `\\`, no control characters, not `.` or `..`")]
    NotPlain,
}

impl Filename {
    pub fn parse(name: impl Into<String>) -> Result<Self, IllegalFilename> {
        let name = name.into();
        if name.is_empty() {
            return Err(IllegalFilename::Empty);
        }
        if name.len() > 255 {
            return Err(IllegalFilename::TooLong);
        }
        let is_unsafe = |character: char| matches!(character, '/' | '\\') || character.is_control();
        if name == "." || name == ".." || name.contains(is_unsafe) {
            return Err(IllegalFilename::NotPlain);
        }
        Ok(Self(name))
    }
}

checked_string!(Filename, IllegalFilename);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filename_cannot_leave_its_folder() {
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc/passwd",
            "a\\b",
            "a\0",
            "a\nb",
            "\u{7f}",
        ] {
            assert!(name.parse::<Filename>().is_err(), "{name:?}");
        }
        assert!("x".repeat(256).parse::<Filename>().is_err());
    }

    #[test]
    fn unusual_filenames_are_accepted() {
        for name in [
            "a.png",
            ".env",
            "two words.txt",
            "naïve 🎶.md",
            "...",
            "\"quoted\"",
        ] {
            assert_eq!(name.parse::<Filename>().unwrap().as_str(), name);
        }
    }
}
