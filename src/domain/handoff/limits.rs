//! Limits of chains of hand-offs.

/// The limits of a chain of hand-offs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLimits {
    /// The depth of the tree of tasks.
    pub depth: u32,
    /// Hand-offs from agent to agent on a task and its descendants.
    pub hops: u32,
    /// Hand-offs straight back to the agent that handed off.
    pub bounces: u32,
}

impl Default for ChainLimits {
    fn default() -> Self {
        Self {
            depth: 10,
            hops: 50,
            bounces: 6,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainLimit {
    Depth,
    Bounces,
    Hops,
}
