//! Outcomes of hand-offs and runs.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// How a hand-off or a run ended.
    pub enum Outcome {
        /// Success; the output is the final message of the agent.
        Completed = "completed",
        /// An error.
        Failed = "failed",
        /// Stopped by a caller.
        Cancelled = "cancelled",
        /// Stopped by a time limit.
        TimedOut = "timed_out",
        /// The process or the server died.
        Interrupted = "interrupted",
    }
}
