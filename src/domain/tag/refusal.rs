//! Refusals: the reasons why a file keeps its tags.

use std::fmt;

use super::name::Tag;
use super::scan::Scan;

/// The tags that a file has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present(Vec<(Tag, usize)>);

/// How many tags a message names.
const NAMED: usize = 20;

impl Present {
    /// Lists the tags of a file.
    pub fn of(scan: &Scan<'_>) -> Self {
        let tags = scan.occurrences.iter();
        Self(tags.map(|found| (found.tag.clone(), found.line)).collect())
    }
}

impl fmt::Display for Present {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there are no tags now");
        }
        f.write_str("now there are")?;
        for (nth, (tag, line)) in self.0.iter().take(NAMED).enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            write!(f, "{comma} {tag} (line {line})")?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Why tags are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagRefusal {
    /// The tag is not there.
    #[error("{tag} is not there; {present}")]
    Absent {
        /// The tag.
        tag: Tag,
        /// What is there.
        present: Present,
    },
    /// The tag is not on the line that was named.
    #[error("{tag} is not on line {line}; {present}")]
    NotOnLine {
        /// The tag.
        tag: Tag,
        /// The line.
        line: usize,
        /// What is there.
        present: Present,
    },
    /// The tag is only mentioned.
    #[error(
        "{tag} is only mentioned, in code or a comment on {}; {present}",
        Lines(lines)
    )]
    Mention {
        /// The tag.
        tag: Tag,
        /// Where.
        lines: Vec<usize>,
        /// What is there.
        present: Present,
    },
    /// The tag is in the text more than once.
    #[error(
        "{tag} stands more than once, on {}; say which line is meant",
        Lines(lines)
    )]
    Several {
        /// The tag.
        tag: Tag,
        /// Where.
        lines: Vec<usize>,
    },
    /// The tag is more than once on the line.
    #[error("{tag} stands more than once on line {line}; leave one there")]
    Twice {
        /// The tag.
        tag: Tag,
        /// The line.
        line: usize,
    },
    /// The tag is there already.
    #[error("{tag} is already on line {line}; {present}")]
    AlreadyThere {
        /// The tag.
        tag: Tag,
        /// The line.
        line: usize,
        /// What is there.
        present: Present,
    },
    /// A tag is to become itself.
    #[error("{tag} cannot be swapped for itself; name two tags")]
    Same {
        /// The tag.
        tag: Tag,
    },
    /// There is no such line.
    #[error("there is no line {line}; the file has {count}")]
    NoSuchLine {
        /// The line.
        line: usize,
        /// How many there are.
        count: usize,
    },
    /// The change would make tags of text, or text of tags: it is in code, a comment or a fence.
    #[error(
        "line {line} is code, or part of its frame, where a tag would only be mentioned; choose another line"
    )]
    Code {
        /// The line.
        line: usize,
    },
    /// The file has an encoding in which a tag is not these bytes.
    #[error("the file is UTF-16; save it as UTF-8 first")]
    Utf16,
}

/// Writes numbers of lines.
struct Lines<'a>(&'a [usize]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().take(NAMED).map(usize::to_string).collect();
        let noun = if self.0.len() == 1 { "line" } else { "lines" };
        let more = if self.0.len() > NAMED { ", …" } else { "" };
        write!(f, "{noun} {}{more}", numbers.join(", "))
    }
}
