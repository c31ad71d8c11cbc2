//! Jobs elsewhere: the command that starts one, and the command that is asked whether it is finished.

mod ask;
mod start;

pub use ask::{JobState, ask};
pub(super) use start::launched_agent;
