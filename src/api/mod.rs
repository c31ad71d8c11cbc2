//! The HTTP door: parses, calls the engine, renders. No SQL, no process.
//!
//! The tree mirrors the URLs: one file per noun. [`extract`] reads what callers send, [`answer`] and [`error`] write
//! what they get, [`guard`] finds out who asks, [`description`] completes what the handlers say of themselves.

mod agents;
mod alerts;
mod analytics;
mod answer;
mod attachments;
mod description;
mod dispatch;
mod docs;
mod error;
mod events;
mod extract;
mod guard;
mod handoffs;
mod health;
mod ids;
mod increments;
mod logs;
mod mail;
mod messages;
mod observe;
mod queue;
mod requests;
mod router;
mod routing;
mod serve;
mod sessions;
mod surrogates;
mod tasks;
mod tools;
mod usage;

// Bodies and parameters that the engine and the runner define: a client of the API finds all of them here.
pub use crate::engine::{
    AlertInput, ConversationInput, HandoffInput, IncrementInput, MailInput, MarkInput,
    RequestInput, TaskInput,
};
pub use crate::runner::LogStream;
pub use answer::{Answer, Meta};
pub use dispatch::{DispatchOverview, HeldKind, RoutesInput};
pub use error::{ErrorAnswer, ErrorBody};
pub use guard::Guard;
pub use handoffs::{CancelInput, CompleteInput};
pub use queue::MessageInput;
pub use requests::{ApproveInput, ClaimInput, DoneInput, HeartbeatInput, RequeueInput};
pub use router::{App, openapi, router};
pub use serve::serve;
pub use sessions::{Count, SessionHandoffStarted};
pub use tasks::{StatusInput, View};
