//! The limits of a chain of hand-offs.

/// The limits of a chain of hand-offs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLimits {
    /// How many tasks a chain may be deep.
    pub depth: u32,
    /// How many hand-offs from agent to agent a task and all below it may see.
    pub hops: u32,
    /// How often two agents may hand back and forth.
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

/// A limit of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainLimit {
    Depth,
    Bounces,
    Hops,
}
