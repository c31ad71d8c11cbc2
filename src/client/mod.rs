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
mod ids;
mod increments;
mod input;
mod mail;
mod patience;
mod reply;
mod requests;
mod sessions;
mod tasks;
mod tools;
mod transport;

pub use alerts::AlertList;
pub use error::ClientError;
pub use events::Events;
pub use handoffs::AnalyticsQuery;
pub use ids::IdList;
pub use increments::IncrementList;
pub use input::Input;
pub use mail::MailList;
pub use patience::Patience;
pub use reply::{Reply, Untyped};
pub use requests::RequestList;
pub use sessions::SessionMoveInput;
pub use tasks::{ReadyList, TaskList};
pub use transport::{Client, DEFAULT_URL, UNIX};

/// The answer of the API, or the reason why there is none.
type Replied<T> = Result<Reply<T>, ClientError>;

/// Defines a handle for each noun, and the method of the client that returns it.
macro_rules! nouns {
    ($($method:ident: $noun:ident),* $(,)?) => {
        $(pub struct $noun<'a>(&'a Client);)*

        impl Client {
            $(pub const fn $method(&self) -> $noun<'_> {
                $noun(self)
            })*
        }
    };
}

nouns! {
    agents: Agents,
    alerts: Alerts,
    dispatch: Dispatch,
    handoffs: Handoffs,
    ids: Ids,
    increments: Increments,
    mail: Mailbox,
    requests: Requests,
    sessions: Sessions,
    tasks: Tasks,
    tools: Tools,
}
