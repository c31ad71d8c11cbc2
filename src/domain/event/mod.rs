//! Events: everything that happens, as it is recorded, stored and followed.

mod event;
mod kind;
mod parts;
mod topic;

pub use event::{Event, EventType, History};
pub use kind::{AgentEvent, EventKind, ToolChange};
pub use topic::{Recorded, Topic};
