//! Callers: the parties that request an operation.

use super::{Actor, Correspondent, RunIdentity};

/// The party that requests an operation, identified by its token, or without one by the process that calls.
///
/// [`Actor`] is the name recorded for a change; the dispatcher and files are actors, never callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Has the operator's token.
    Operator,
    /// An agent, identified by the token of its run, or by the process of the run.
    Run(RunIdentity),
    /// Has no token; a process of the server's own user, on this machine.
    Person,
    /// Has no token, and needs one.
    Unknown(Stranger),
}

/// The reason why a caller without a token is not a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// The server demands a token from everybody.
    Anybody,
    OtherMachine,
    OtherUser,
    /// The kernel does not name the process while agents work.
    UnknownProcess,
    /// A process of a run that cannot be named.
    LostRun,
}

impl Caller {
    pub const fn run(&self) -> Option<&RunIdentity> {
        match self {
            Self::Run(run) => Some(run),
            Self::Operator | Self::Person | Self::Unknown(_) => None,
        }
    }

    /// Returns the part of an idempotency fingerprint that separates the responses of different tokens.
    pub fn fingerprint(&self) -> &str {
        match self {
            Self::Operator => "operator",
            Self::Run(run) => run.run_id.as_str(),
            Self::Person | Self::Unknown(_) => "",
        }
    }
}

impl From<&Caller> for Actor {
    fn from(caller: &Caller) -> Self {
        match caller {
            Caller::Operator => Self::Operator,
            Caller::Run(run) => Self::Run(run.clone()),
            Caller::Person | Caller::Unknown(_) => {
                Self::Person(Correspondent::ANONYMOUS.to_owned())
            }
        }
    }
}
