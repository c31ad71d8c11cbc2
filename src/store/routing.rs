//! What is asked of a store about roles, routing, reports and increments, and what it answers.

use crate::domain::{ChainLimits, agent_context};

/// The rules of the house, which hold whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How often a task is given to an agent before a person must look.
    pub route_attempts: u32,
    /// How many bytes of what an agent leaves behind are carried to the next one.
    pub carried_bytes: usize,
    /// How often an increment is tested before a person must look.
    pub max_rounds: u32,
    /// How far agents may hand on.
    pub chain: ChainLimits,
    /// The most bytes of a task's context.
    pub largest_context: usize,
    /// The most bytes of an object that agents leave on a task.
    pub largest_object: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            route_attempts: 2,
            carried_bytes: 2048,
            max_rounds: 5,
            chain: ChainLimits::default(),
            largest_context: 256 * 1024,
            largest_object: agent_context::LARGEST,
        }
    }
}
