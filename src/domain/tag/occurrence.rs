//! A tag at its place in a file.

use std::ops::Range;

use super::name::Tag;

/// Where a tag stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the `**Tags**:` line of the file.
    TagsLine,
    /// In the text.
    Inline,
}

impl Place {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TagsLine => "tagsLine",
            Self::Inline => "inline",
        }
    }
}

/// A tag in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The tag.
    pub tag: Tag,
    /// The line, from 1.
    pub line: usize,
    /// Its bytes in the file, `#` included.
    pub range: Range<usize>,
    /// Where it stands.
    pub place: Place,
}
