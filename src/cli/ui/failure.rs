//! Failures of commands, with their exit codes.

use std::process::ExitCode;

use reqwest::StatusCode;

use crate::client::ClientError;
use crate::config::DataDirError;
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
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
            hints: Vec::new(),
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
            ClientError::Refused { status, error } => {
                let exit = match status {
                    StatusCode::NOT_FOUND => Exit::NotFound,
                    StatusCode::CONFLICT => Exit::Conflict,
                    _ => Exit::Failed,
                };
                let agents = error
                    .details
                    .as_ref()
                    .and_then(|details| details["agents"].as_array());
                let mut failure = Self { exit, ..failure };
                if status == StatusCode::UNAUTHORIZED {
                    failure = failure.with_hint(
                        "name the server's data directory, which has the operator's token, with --data-dir or CHORUS_DATA_DIR",
                    );
                }
                match agents {
                    None => failure,
                    Some(agents) => {
                        let names: Vec<_> = agents
                            .iter()
                            .filter_map(serde_json::Value::as_str)
                            .collect();
                        failure.with_hint(format!("known agents: {}", names.join(", ")))
                    }
                }
            }
        }
    }
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
