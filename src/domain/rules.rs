//! The rules of an installation, the same for every caller.

use super::{ChainLimits, agent_context};

/// The limits that operations check inside of their transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How far agents may hand on.
    pub chain: ChainLimits,
    /// How often a task is given to an agent before a person must look.
    pub route_attempts: u32,
    /// How many bytes of what an agent leaves behind are carried to the next one.
    pub carried_bytes: usize,
    /// How often an increment is tested before a person must look.
    pub max_rounds: u32,
    /// Bytes of a task's context.
    pub largest_context: usize,
    /// Bytes of an object that agents pass on with a task: its agent context, its hand-off instructions.
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
