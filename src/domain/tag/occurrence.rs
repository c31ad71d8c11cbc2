//! Occurrences of tags in a file.

use std::ops::Range;

use super::name::Tag;

/// The place of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the `**Tags**:` line of the file.
    TagsLine,
    Inline,
}

impl Place {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TagsLine => "tagsLine",
            Self::Inline => "inline",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub tag: Tag,
    /// From 1.
    pub line: usize,
    /// Includes the `#`.
    pub range: Range<usize>,
    pub place: Place,
}
