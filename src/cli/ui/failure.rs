//! Failures of commands, with their exit codes.

use std::path::Path;
use std::process::ExitCode;

use reqwest::StatusCode;
use serde::Deserialize;

use crate::api::ErrorBody;
use crate::client::{ClientError, UNIX};
use crate::config::{DataDir, DataDirError};
use crate::domain::Problem;
use crate::error::with_sources;
use crate::store::OpenError;

/// The exit codes. Scripts rely on them: docs/cli.md lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Exit {
    Failed = 1,
    /// The same code as clap's.
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    Unreachable = 5,
    /// A wait has ended before the work.
    TimedOut = 6,
    /// The code of a process that SIGINT ends.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The error that ends a command.
#[derive(Debug)]
pub(in crate::cli) struct Failure {
    pub exit: Exit,
    pub message: String,
    pub hints: Vec<String>,
    /// The invalid fields that the message lists.
    pub problems: Vec<Problem>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
            hints: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Makes a failure without a message, for commands such as `tag find`.
    pub fn silent() -> Self {
        Self::new("")
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::new(message)
        }
    }

    /// Makes a failure of a wait that was too short.
    pub fn timed_out(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::TimedOut,
            ..Self::new(message)
        }
    }

    /// Makes a failure of a wait that Ctrl-C ended.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Interrupted,
            ..Self::new(message)
        }
    }

    /// Makes the failure of a command that needs the server of a data directory.
    pub fn no_server(data_dir: &Path) -> Self {
        let message = format!("no server runs on the data in {}", data_dir.display());
        Self {
            exit: Exit::Unreachable,
            ..Self::new(message)
        }
        .with_hint(
            "start it with `chorus serve`, or name other data with --data-dir or another server with --url",
        )
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Makes a failure of an error and its sources.
    pub fn caused(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new(with_sources(error))
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        if let ClientError::Unreachable { url, .. } = &error
            && let Some(data_dir) = url
                .strip_prefix(UNIX)
                .map(Path::new)
                .and_then(DataDir::of_socket)
        {
            return Self::no_server(data_dir);
        }
        let failure = Self::caused(&error);
        match error {
            ClientError::Unreachable { .. } => Self {
                exit: Exit::Unreachable,
                ..failure
            }
            .with_hint(
                "start a server with `chorus serve`, or name another one with --url or CHORUS_URL",
            ),
            ClientError::Garbled { .. } => failure,
            ClientError::TooLong { .. } => Self {
                exit: Exit::Usage,
                ..failure
            },
            ClientError::Refused { status, error } => refused(failure, status, &error),
        }
    }
}

fn refused(failure: Failure, status: StatusCode, error: &ErrorBody) -> Failure {
    let exit = match (status, error.code.as_str()) {
        (StatusCode::NOT_FOUND, _) | (_, "UNKNOWN_AGENT") => Exit::NotFound,
        (StatusCode::CONFLICT, _) => Exit::Conflict,
        (StatusCode::BAD_REQUEST, _) => Exit::Usage,
        _ => Exit::Failed,
    };
    let details = |name: &str| error.details.as_ref().and_then(|details| details.get(name));
    let problems = details("problems").and_then(|problems| Vec::deserialize(problems).ok());
    let failure = Failure {
        exit,
        problems: problems.unwrap_or_default(),
        ..failure
    };
    let agents = details("agents").and_then(|agents| Vec::<String>::deserialize(agents).ok());
    match agents {
        _ if status == StatusCode::UNAUTHORIZED => without_header(failure).with_hint(
            "name the server's data directory, which has the operator's token, with --data-dir or CHORUS_DATA_DIR, or set CHORUS_TOKEN to a token",
        ),
        Some(agents) => failure.with_hint(format!("known agents: {}", agents.join(", "))),
        None => failure,
    }
}

/// Drops the advice to send a header, which a command cannot do.
fn without_header(mut failure: Failure) -> Failure {
    if let Some(end) = failure.message.find(". Send the header") {
        failure.message.truncate(end);
    }
    failure
}

impl From<DataDirError> for Failure {
    fn from(error: DataDirError) -> Self {
        Self::caused(&error)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::new(match error {
            OpenError::Newer { path, version } => format!(
                "a newer version of Chorus wrote the database {} (it has migration {version}); use that version or a later one",
                path.display()
            ),
            OpenError::Changed { path, version } => format!(
                "migration {version} of the database {} differs from the one in this version of Chorus; use the version that wrote the database, or restore a backup",
                path.display()
            ),
            OpenError::Failed { path, cause } => {
                format!("cannot open the database {}: {cause}", path.display())
            }
        })
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        Self::caused(&error)
    }
}
