//! Refusals to change tags.
//!
//! A refusal is data. `crate::words` has its sentences.

use super::name::Tag;
use super::scan::Scan;

/// The tags of a file with their lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present(pub Vec<(Tag, usize)>);

impl Present {
    pub fn of(scan: &Scan<'_>) -> Self {
        let tags = scan.occurrences.iter();
        Self(tags.map(|found| (found.tag.clone(), found.line)).collect())
    }
}

/// The reason why tags were not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagRefusal {
    Absent {
        tag: Tag,
        present: Present,
    },
    NotOnLine {
        tag: Tag,
        line: usize,
        present: Present,
    },
    /// The tag occurs in code or comments only.
    Mention {
        tag: Tag,
        lines: Vec<usize>,
        present: Present,
    },
    /// The tag is on several lines of the text.
    Several {
        tag: Tag,
        lines: Vec<usize>,
    },
    /// The tag is on the line more than once.
    Twice {
        tag: Tag,
        line: usize,
    },
    AlreadyThere {
        tag: Tag,
        line: usize,
        present: Present,
    },
    /// The old and the new tag are the same.
    Same {
        tag: Tag,
    },
    NoSuchLine {
        line: usize,
        /// The number of lines in the file.
        count: usize,
    },
    /// The line is in code or in a comment, where a tag would only be a mention.
    Code {
        line: usize,
    },
    /// UTF-16 represents tags by other bytes.
    Utf16,
}
