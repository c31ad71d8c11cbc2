//! Events: the recorded history of everything that happens.

mod event;
mod kind;
mod parts;
mod topic;

pub use event::{Event, EventType, History};
pub use kind::{AgentEvent, EventKind, ToolChange};
pub use topic::{Recorded, Topic};
