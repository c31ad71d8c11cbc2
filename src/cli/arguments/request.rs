//! Arguments of `chorus request`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DataArguments, RequestArgument, ServerArguments, TaskArgument};
use crate::domain::{Effort, Kind, Priority, RequestState};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RequestCommand {
    /// Create a request for the operator to approve, and print its id
    Create(CreateRequestArguments),
    /// List requests, oldest first
    List {
        /// Only requests of this kind
        #[arg(long)]
        kind: Option<Kind>,
        /// Only requests in this state
        #[arg(long)]
        state: Option<StateArgument>,
        /// Only requests of this priority
        #[arg(long, value_name = "P0|P1|P2", value_parser = priority)]
        priority: Option<Priority>,
        /// List withdrawn requests instead of the others
        #[arg(long)]
        withdrawn: bool,
        /// Maximum number of requests
        #[arg(long)]
        limit: Option<u32>,
        /// Only requests created after this one
        #[arg(long, value_name = "REQUEST")]
        after: Option<RequestArgument>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a request, its history and its response
    Show {
        /// Request to show
        request: RequestArgument,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Approve requests, all of them or none, for the dispatcher
    ///
    /// Needs the operator's token, which is in the data directory.
    Approve {
        /// Requests to approve
        #[arg(value_name = "REQUEST")]
        requests: Vec<RequestArgument>,
        /// Approve all undecided requests
        #[arg(long, conflicts_with = "requests")]
        all: bool,
        /// With --all, approve only requests of this kind
        #[arg(long, requires = "all")]
        kind: Option<Kind>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Approve requests for a claim by anyone, not for the dispatcher
    ///
    /// Needs the operator's token, which is in the data directory.
    Next {
        /// Requests to approve
        #[arg(required = true, value_name = "REQUEST")]
        requests: Vec<RequestArgument>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Take the approval of requests back while nobody works on them
    ///
    /// The requests return to `needs`. Needs the operator's token, which is in the data directory.
    Withdraw {
        /// Requests that are delegated or next
        #[arg(required = true, value_name = "REQUEST")]
        requests: Vec<RequestArgument>,
        /// Reason, for the history; - reads standard input
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Claim a request and print the fencing token of the claim
    ///
    /// Pass the fencing token to `heartbeat`, `done` and `requeue` as --fencing: a later claim then makes these calls fail.
    Claim {
        /// Request to claim
        request: RequestArgument,
        /// Claim as this agent or person [default: $USER]
        #[arg(
            long = "as",
            alias = "agent",
            env = "CHORUS_AGENT",
            value_name = "NAME"
        )]
        agent: Option<String>,
        /// Seconds until the claim ends without a heartbeat
        #[arg(long, value_name = "SECONDS")]
        lease: Option<u64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Extend the lease of a claimed request
    Heartbeat {
        /// Request to keep
        request: RequestArgument,
        /// Fencing token that `claim` printed
        #[arg(long, value_name = "N")]
        fencing: Option<u32>,
        /// Seconds until the claim ends without a heartbeat
        #[arg(long, value_name = "SECONDS")]
        lease: Option<u64>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Finish a request with a response
    Done {
        /// Request to finish
        request: RequestArgument,
        /// Response; - reads standard input
        response: String,
        /// Fencing token that `claim` printed
        #[arg(long, value_name = "N")]
        fencing: Option<u32>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Return a request to the operator, and stop its agent
    Requeue {
        /// Request to return
        request: RequestArgument,
        /// Reason; - reads standard input
        reason: String,
        /// Fencing token that `claim` printed
        #[arg(long, value_name = "N")]
        fencing: Option<u32>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Wait until a request is done, and print its response
    Wait(WaitArguments),
    /// Show the requests that are not done
    Top {
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show or replace the agent of each kind of request
    #[command(alias = "routes")]
    Kinds {
        /// JSON list that replaces all rules; - reads standard input
        ///
        /// Needs the operator's token, which is in the data directory.
        #[arg(long, value_name = "FILE")]
        set: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Print the template of a request or of a response
    Template {
        /// Kind of request, such as `research`
        kind: String,
        /// Print the template of the response
        #[arg(long)]
        response: bool,
        #[command(flatten)]
        data: DataArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CreateRequestArguments {
    /// Title, in one line
    pub title: String,
    /// Kind of work, such as `implementation`
    #[arg(long)]
    pub kind: Kind,
    /// Full description of the work; - reads standard input
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub body: String,
    /// Priority; P0 is the most urgent
    #[arg(long, value_name = "P0|P1|P2", value_parser = priority)]
    pub priority: Option<Priority>,
    /// Estimated size of the work
    #[arg(long, value_name = "S|M|L", value_parser = effort)]
    pub effort: Option<Effort>,
    /// Task that the request comes from
    #[arg(long)]
    pub task: Option<TaskArgument>,
    /// Working directory of the agent
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WaitArguments {
    /// Request to wait for
    pub request: RequestArgument,
    /// State to wait for
    #[arg(long, default_value = "done")]
    pub state: StateArgument,
    /// Seconds to wait, then exit 6
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Reads a priority in upper or lower case.
fn priority(text: &str) -> Result<Priority, &'static str> {
    Priority::parse(&text.to_ascii_uppercase()).ok_or("must be P0, P1 or P2")
}

/// Reads an effort in upper or lower case.
fn effort(text: &str) -> Result<Effort, &'static str> {
    Effort::parse(&text.to_ascii_uppercase()).ok_or("must be S, M or L")
}

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
