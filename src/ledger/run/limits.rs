//! The limits of a run, and the facts of its launch.

/// The limits of a run in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_seconds: u64,
    /// The maximum time without output.
    pub idle_seconds: u64,
}

/// A run whose supervisor was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    pub limits: Limits,
}
