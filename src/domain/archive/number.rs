//! The numbers of messages and events in an archive.

/// The largest number of a message or an event in an archive, so that the numbers after it do not run out.
pub const MOST_NUMBER: i64 = 1_000_000_000_000_000;
