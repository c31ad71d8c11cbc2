//! The limits of an installation, the same for every caller.

use super::{ChainLimits, agent_context};

/// Limits that operations check inside their transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub chain: ChainLimits,
    /// Attempts of the router before a task is blocked.
    pub route_attempts: u32,
    /// The size of the agent context that a hand-off passes on.
    pub carried_bytes: usize,
    /// Rounds of an increment before it is blocked.
    pub max_rounds: u32,
    /// The size of a task's context in bytes.
    pub largest_context: usize,
    /// The size of `agentContext` and of `handoffInstructions` in bytes.
    pub largest_object: usize,
    /// Recipients of one mail.
    pub most_recipients: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            chain: ChainLimits::default(),
            route_attempts: 2,
            carried_bytes: 2048,
            max_rounds: 5,
            largest_context: 256 * 1024,
            largest_object: agent_context::LARGEST,
            most_recipients: 100,
        }
    }
}
