//! Callers: who asks for an operation.

use super::{Actor, RunIdentity};

/// The author of a request, as its token and the server's address show.
///
/// [`Actor`] is the name that is written down; the dispatcher and a file are actors, never callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The holder of the operator's token.
    Operator,
    /// An agent, by the token of its run.
    Run(RunIdentity),
    /// Anybody without a token, at a server that listens on this machine only.
    Person,
    /// Anybody without a token, at a server that listens beyond this machine.
    Anonymous,
}

impl Caller {
    pub const fn run(&self) -> Option<&RunIdentity> {
        match self {
            Self::Run(run) => Some(run),
            Self::Operator | Self::Person | Self::Anonymous => None,
        }
    }

    /// Returns the part of an idempotency key's fingerprint that keeps the answers of different tokens apart.
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
