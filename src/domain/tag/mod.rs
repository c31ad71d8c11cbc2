//! Tags in Markdown files: what a tag is, where tags stand in a file, and what changing one does to its bytes.
//!
//! A tag such as `#needs-implementation` stands on the `**Tags**:` line below the first heading, or bare in the text. In code or
//! a comment it is only a mention. Everything here works on bytes, whatever their encoding, in time that grows with their number.

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

pub use agreement::{Agreement, AlertAgreement, FollowedText};
pub use change::{Changed, add_tags, remove_tags, swap_tag};
pub use heading::{Heading, TagsLine};
pub use matching::{FileAlert, FileTag, KnownTag, match_moved_tags, match_tags};
pub use name::{IllegalTag, Tag};
pub use occurrence::{Occurrence, Place};
pub use pattern::TagPattern;
pub use refusal::{Present, TagRefusal};
pub use scan::{Scan, Weights, scan};
