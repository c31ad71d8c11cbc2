//! Agent context: information for the next agents of a task.

mod after_handoff;
mod check;
mod excerpt;
mod limits;

pub use after_handoff::after_handoff;
pub(in crate::domain) use check::{check_context, check_instructions};
pub use excerpt::{Cut, excerpt};
pub use limits::{LARGEST, TOO_DEEP, is_too_deep, size};
