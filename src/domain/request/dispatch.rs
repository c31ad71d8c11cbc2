//! The next deadlines of the dispatcher, and its external jobs.

use super::kind::Kind;
use super::request::RequestId;
use crate::domain::{TaskId, Text, Timestamp};

/// The next times at which the dispatcher must act.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    /// The earliest approval of a request that can start.
    pub first_approval: Option<Timestamp>,
    /// The latest approval of a request that can start.
    pub last_approval: Option<Timestamp>,
    /// The first expiry of a lease that only a heartbeat extends.
    pub lease: Option<Timestamp>,
    /// The first expiry of a lease that the server extends.
    pub kept_lease: Option<Timestamp>,
}

/// An external job that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub request_id: RequestId,
    /// The id that the start command printed.
    pub job_id: Text,
    pub task_id: TaskId,
    pub workspace: Text,
    pub kind: Kind,
    /// `None` if the kind no longer has a rule for jobs.
    pub poll_command: Option<Vec<Text>>,
    pub poll_seconds: u32,
}

/// A hand-off that only starts an external job with the command of its kind rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStart {
    pub request_id: RequestId,
    /// The program and its arguments; empty if the kind no longer has a rule for jobs.
    pub command: Vec<Text>,
    pub is_started: bool,
}
