//! A typed client of the HTTP API, one file per noun. The command line and the tests use it.
//!
//! Every method names its path in segments, which [`transport`] joins and percent-encodes. A [`Reply`] keeps the text of an answer
//! beside its type, so that `--json` prints exactly what the server sent.

mod agents;
mod alerts;
mod dispatch;
mod error;
mod events;
mod handoffs;
mod health;
mod increments;
mod input;
mod mail;
mod reply;
mod requests;
mod sessions;
mod tasks;
mod tools;
mod transport;

pub use agents::Agents;
pub use alerts::{AlertList, Alerts};
pub use dispatch::Dispatch;
pub use error::ClientError;
pub use events::Events;
pub use handoffs::{AnalyticsQuery, Handoffs};
pub use increments::{IncrementList, Increments};
pub use input::Input;
pub use mail::{MailList, Mailbox};
pub use reply::{Reply, Untyped};
pub use requests::{RequestList, Requests};
pub use sessions::{SessionMoveInput, Sessions};
pub use tasks::{ReadyList, TaskList, Tasks};
pub use tools::Tools;
pub use transport::{Client, DEFAULT_URL};

/// The answer of the API, or the reason why there is none.
type Replied<T> = Result<Reply<T>, ClientError>;
