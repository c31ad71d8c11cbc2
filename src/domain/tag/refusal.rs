//! Refusals: the reasons why a file keeps its tags.
//!
//! A refusal is data. `crate::words` has its sentences.

use super::name::Tag;
use super::scan::Scan;

/// The tags that a file has now, each with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present(pub Vec<(Tag, usize)>);

impl Present {
    /// Lists the tags of a file.
    pub fn of(scan: &Scan<'_>) -> Self {
        let tags = scan.occurrences.iter();
        Self(tags.map(|found| (found.tag.clone(), found.line)).collect())
    }
}

/// Why tags are left as they are.
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
    /// The tag is in code or in a comment only.
    Mention {
        tag: Tag,
        lines: Vec<usize>,
        present: Present,
    },
    /// The tag is in the text more than once.
    Several {
        tag: Tag,
        lines: Vec<usize>,
    },
    /// The tag is more than once on the line.
    Twice {
        tag: Tag,
        line: usize,
    },
    AlreadyThere {
        tag: Tag,
        line: usize,
        present: Present,
    },
    /// A tag is to be swapped for itself.
    Same {
        tag: Tag,
    },
    NoSuchLine {
        line: usize,
        /// How many lines the file has.
        count: usize,
    },
    /// The line is in code, a comment or a fence, where a tag would only be mentioned.
    Code {
        line: usize,
    },
    /// In UTF-16 a tag is not these bytes.
    Utf16,
}
