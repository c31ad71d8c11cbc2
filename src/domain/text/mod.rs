//! Value types shared by the whole domain: text, ids, words, times and validation problems.

pub(super) mod checked_string;
mod deceptive;
pub(super) mod field;
pub(super) mod id;
mod minutes;
mod problem;
mod text;
mod timestamp;
pub(super) mod wire_enum;
pub(super) mod word;

pub use deceptive::is_deceptive;
pub use id::IllegalName;
pub use minutes::{IllegalMinutes, Minutes};
pub use problem::{Problem, Problems};
pub use text::Text;
pub use timestamp::Timestamp;

#[cfg(test)]
pub(super) use text::tests::any_text;
