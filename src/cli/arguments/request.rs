//! What can be typed after `chorus request` and `chorus await`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DataArguments, ServerArguments};
use crate::domain::{Effort, Kind, Priority, RequestState};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RequestCommand {
    /// Leave work behind and print its id; a person decides what becomes of it
    Create(CreateRequestArguments),
    /// List requests, oldest first
    List {
        /// Only those of this kind
        #[arg(long)]
        kind: Option<Kind>,
        /// Only those in this state
        #[arg(long)]
        state: Option<StateArgument>,
        /// Only those of this priority
        #[arg(long, value_name = "P0|P1|P2", value_parser = priority)]
        priority: Option<Priority>,
        /// Those that were withdrawn, instead of all others
        #[arg(long)]
        withdrawn: bool,
        /// At most so many
        #[arg(long)]
        limit: Option<u32>,
        /// Only those made after this one
        #[arg(long, value_name = "REQUEST")]
        after: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a request: what is asked, its life, its response
    Show {
        /// The request
        request: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Approve requests for the dispatcher: all of them or none. Needs the operator's token, which is in the data directory
    Approve {
        /// The requests
        #[arg(required_unless_present = "all")]
        requests: Vec<String>,
        /// All that wait for a decision
        #[arg(long, conflicts_with = "requests")]
        all: bool,
        /// Of all, those of this kind
        #[arg(long, requires = "all")]
        kind: Option<Kind>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Leave requests to whoever starts next on them. Needs the operator's token, which is in the data directory
    Next {
        /// The requests
        #[arg(required = true)]
        requests: Vec<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Claim a request and print the number of the claim, which `heartbeat`, `done` and `requeue` take as --fencing
    Claim {
        /// The request
        request: String,
        /// Who works on it
        #[arg(long, env = "CHORUS_AGENT", value_name = "NAME")]
        agent: Option<String>,
        /// How many seconds the claim lasts without a heartbeat
        #[arg(long, value_name = "SECONDS")]
        lease: Option<u64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Say that you still work on a request
    Heartbeat {
        /// The request
        request: String,
        /// The number of the claim
        #[arg(long, value_name = "N")]
        fencing: Option<u32>,
        /// For how many seconds more
        #[arg(long, value_name = "SECONDS")]
        lease: Option<u64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Answer a request
    Done {
        /// The request
        request: String,
        /// The response; - reads it from standard input
        response: String,
        /// The number of the claim
        #[arg(long, value_name = "N")]
        fencing: Option<u32>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Give a request up; a person looks again. An agent that works on it is stopped
    Requeue {
        /// The request
        request: String,
        /// Why
        reason: String,
        /// The number of the claim
        #[arg(long, value_name = "N")]
        fencing: Option<u32>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show what is worked on, where and since when; what waits, in order; and what nobody will start
    Top {
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show who gets requests of which kind, or set that from a file
    Routes {
        /// A JSON list of routes, which replaces all; - reads standard input. Needs the operator's token
        #[arg(long, value_name = "FILE")]
        set: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Print the form of a request of a kind, or of its response
    Template {
        /// The kind, such as `research`
        kind: String,
        /// The form of the response
        #[arg(long)]
        response: bool,
        #[command(flatten)]
        data: DataArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateRequestArguments {
    /// What is to be done, in a line
    pub title: String,
    /// What kind of work it is, such as `implementation`
    #[arg(long)]
    pub kind: Kind,
    /// What is to be done, in full; - reads it from standard input
    #[arg(long, default_value = "")]
    pub body: String,
    /// How urgent it is
    #[arg(long, value_name = "P0|P1|P2", value_parser = priority)]
    pub priority: Option<Priority>,
    /// How much work it seems to be
    #[arg(long, value_name = "S|M|L", value_parser = effort)]
    pub effort: Option<Effort>,
    /// The task from which it comes
    #[arg(long)]
    pub task: Option<String>,
    /// The directory in which it is to be worked on
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AwaitArguments {
    /// The request
    pub request: String,
    /// What to wait for
    #[arg(long, default_value = "done")]
    pub state: StateArgument,
    /// Wait at most so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Reads a priority in letters of either size.
fn priority(text: &str) -> Result<Priority, &'static str> {
    Priority::parse(&text.to_ascii_uppercase()).ok_or("must be P0, P1 or P2")
}

/// Reads an effort in letters of either size.
fn effort(text: &str) -> Result<Effort, &'static str> {
    Effort::parse(&text.to_ascii_uppercase()).ok_or("must be S, M or L")
}

/// A state, as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(in crate::cli) enum StateArgument {
    Needs,
    Delegated,
    Next,
    Claimed,
    Done,
}

impl From<StateArgument> for RequestState {
    fn from(state: StateArgument) -> Self {
        match state {
            StateArgument::Needs => Self::Needs,
            StateArgument::Delegated => Self::Delegated,
            StateArgument::Next => Self::Next,
            StateArgument::Claimed => Self::Claimed,
            StateArgument::Done => Self::Done,
        }
    }
}
