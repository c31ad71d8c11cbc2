//! Agent context: information for the next agents of a task.

mod after_handoff;
mod check;
mod excerpt;
mod follow;
mod keys;
mod limits;

pub use after_handoff::after_handoff;
pub(in crate::domain) use check::{check_context, check_instructions};
pub use excerpt::{Cut, excerpt};
pub use follow::follow;
pub(crate) use keys::either_spelling;
pub use keys::{SpelledTwice, canonical};
pub(in crate::domain) use keys::{
    optional_in_either_spelling, other_spelling, present_in_either_spelling,
};
pub use limits::{LARGEST, TOO_DEEP, is_too_deep, size};
