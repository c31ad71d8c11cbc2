//! Who asks.

use crate::domain::{RunIdentity, TraceParent};

/// Who asks, and in which trace.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    /// The run, if an agent asks.
    pub run: Option<RunIdentity>,
    /// The trace, if the request named one.
    pub trace: Option<TraceParent>,
}
