//! The times at which the dispatcher has something to do, and the jobs that it has started elsewhere.

use super::kind::Kind;
use super::request::RequestId;
use crate::domain::{TaskId, Text, Timestamp};

/// The next times that matter to the dispatcher.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    /// The first approval among the requests that wait and can be started.
    pub first_approval: Option<Timestamp>,
    /// The last approval among them.
    pub last_approval: Option<Timestamp>,
    /// The end of the first lease that only a heartbeat extends.
    pub lease: Option<Timestamp>,
    /// The end of the first lease that the server extends.
    pub kept_lease: Option<Timestamp>,
}

/// A job elsewhere that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub request_id: RequestId,
    /// The name that the start command printed.
    pub job_id: Text,
    /// The task of its hand-off.
    pub task_id: TaskId,
    pub workspace: Text,
    pub kind: Kind,
    /// The command of the kind's rule; none if the kind has no rule for jobs any more.
    pub poll_command: Option<Vec<Text>>,
    pub poll_seconds: u32,
}

/// A hand-off that only starts a job elsewhere, by the command of its kind's rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStart {
    pub request_id: RequestId,
    /// The program and its arguments; empty if the kind has no rule for jobs any more.
    pub command: Vec<Text>,
    pub is_started: bool,
}
