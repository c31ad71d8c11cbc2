//! The HTTP API: parses requests, calls the engine, renders answers. No SQL, no processes.
//!
//! The tree mirrors the URLs: one file per noun. [`extract`] parses requests, [`answer`] and [`error`] render answers,
//! [`guard`] identifies the caller, [`deprecation`] marks paths that have a successor, [`description`] completes the OpenAPI
//! document.

mod agents;
mod alerts;
mod analytics;
mod answer;
mod attachments;
mod attention;
mod board;
mod chat;
mod deprecation;
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
mod intake;
mod logs;
mod mail;
mod messages;
mod observe;
mod outgo;
mod places;
mod queue;
mod requests;
mod router;
mod routing;
mod schema_rules;
mod serve;
mod sessions;
mod setup;
mod stall;
mod surrogates;
mod task_lists;
mod tasks;
mod text_patterns;
mod tools;
mod usage;

// Bodies and parameters that the engine and the runner define: a client of the API finds all of them here.
pub use crate::engine::{
    AgentSetup, AgentSpec, AlertInput, ChatInput, ConversationInput, HandoffInput, IncrementInput,
    MailInput, MarkInput, RequestInput, TaskInput,
};
pub use crate::runner::LogStream;
pub use answer::{Answer, Meta};
pub use chat::ChatAnswer;
pub use dispatch::{DispatchOverview, HeldKind, RoutesInput};
pub use error::{ErrorAnswer, ErrorBody};
pub use guard::Guard;
pub use handoffs::{CancelInput, CompleteInput};
pub use places::{Places, most_connections};
pub use queue::MessageInput;
pub use requests::{
    ApproveInput, ClaimInput, DoneInput, HeartbeatInput, RequeueInput, WithdrawInput,
};
pub use router::{App, openapi, router};
pub use serve::serve;
pub use sessions::{Count, SessionHandoffStarted};
pub use task_lists::View;
pub use tasks::StatusInput;
