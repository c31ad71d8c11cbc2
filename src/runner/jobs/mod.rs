//! External jobs: the command that starts a job, and the command that polls it.

mod poll;
mod start;

pub use poll::{JobState, poll};
pub(super) use start::launched_agent;
