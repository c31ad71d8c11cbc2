//! Tags in Markdown files: their names, their places, and changes to them.
//!
//! A tag such as `#needs-implementation` is on the `**Tags**:` line below the first heading, or anywhere in the text. In
//! code or in a comment it is only a mention. All functions work on bytes in any encoding, in linear time.

mod agreement;
mod blocks;
mod change;
mod cursor;
mod heading;
mod inline;
mod lines;
mod matching;
mod name;
mod occurrence;
mod pattern;
mod refusal;
mod scan;
#[cfg(test)]
mod tests;

pub use agreement::{Agreement, AlertAgreement, Comparison, FollowedText};
pub use change::{Changed, add_tags, remove_tags, swap_tag};
pub use heading::{Heading, TagsLine};
pub use matching::{FileAlert, FileTag, KnownTag, match_moved_tags, match_tags};
pub use name::{IllegalTag, Tag};
pub use occurrence::{Occurrence, Place};
pub use pattern::TagPattern;
pub use refusal::{Present, TagRefusal};
pub use scan::{Scan, Weights, scan};
