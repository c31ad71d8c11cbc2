//! The first heading and the Tags line of a file.

use std::ops::Range;

/// The first heading of a file outside quotes and lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Without the markers.
    pub text: String,
    pub line: usize,
    /// Differs from `line` if the heading is underlined.
    pub last_line: usize,
}

/// The line with the tags of the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagsLine {
    pub line: usize,
    /// From `**Tags**:` up to the line ending.
    pub range: Range<usize>,
    /// Whether the line is below the first heading.
    pub is_below: bool,
}
