//! Callers: the parties that request an operation.

use super::{Actor, RunIdentity};

/// The party that requests an operation, identified by its token and the address of the server.
///
/// [`Actor`] is the name recorded for a change; the dispatcher and files are actors, never callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Has the operator's token.
    Operator,
    /// An agent, identified by the token of its run.
    Run(RunIdentity),
    /// Has no token; the server listens on this machine only.
    Person,
    /// Has no token; the server listens on other addresses too.
    Anonymous,
}

impl Caller {
    pub const fn run(&self) -> Option<&RunIdentity> {
        match self {
            Self::Run(run) => Some(run),
            Self::Operator | Self::Person | Self::Anonymous => None,
        }
    }

    /// Returns the part of an idempotency fingerprint that separates the responses of different tokens.
    pub fn fingerprint(&self) -> &str {
        match self {
            Self::Operator => "operator",
            Self::Run(run) => run.run_id.as_str(),
            Self::Person | Self::Anonymous => "",
        }
    }
}

impl From<&Caller> for Actor {
    fn from(caller: &Caller) -> Self {
        match caller {
            Caller::Operator => Self::Operator,
            Caller::Run(run) => Self::Run(run.clone()),
            Caller::Person | Caller::Anonymous => Self::Person("anonymous".to_owned()),
        }
    }
}
