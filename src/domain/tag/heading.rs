//! The first heading of a file, and the line with the tags of the whole file.

use std::ops::Range;

/// The first heading of a file outside of quotes and lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Its text, without the marks.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The line that ends it: another one if it is underlined.
    pub last_line: usize,
}

/// The line that has the tags of a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagsLine {
    /// The line, from 1.
    pub line: usize,
    /// Its bytes, from `**Tags**:` to before what ends the line.
    pub range: Range<usize>,
    /// Whether it stands below the first heading.
    pub is_below: bool,
}
