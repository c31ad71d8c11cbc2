//! What is asked of a store about requests, what it answers, and what it is told of alerts and of files with tags.

use serde::{Deserialize, Serialize};

use crate::domain::{
    Actor, AgentName, AlertId, DispatchedRequest, FileAlert, FileTag, HeldKind, Kind, Request,
    RequestId, RequestState, RunId, TaskId, Text, Timestamp, WaitingRequest,
};

/// A claim of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The request.
    pub id: RequestId,
    /// Who is to have it.
    pub agent: AgentName,
    /// For how long, without a heartbeat.
    pub lease_millis: i64,
    /// Who asks.
    pub by: Actor,
}

/// A sign that somebody still works on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The request.
    pub id: RequestId,
    /// The number of the claim, if it is shown.
    pub fencing: Option<u32>,
    /// For how much longer.
    pub lease_millis: i64,
    /// Who asks.
    pub by: Actor,
}

/// An end of a claim, or of a request that nobody needed to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndClaim {
    /// The request.
    pub id: RequestId,
    /// The response, or why it is given up.
    pub text: Text,
    /// The number of the claim, if it is shown.
    pub fencing: Option<u32>,
    /// Who asks.
    pub by: Actor,
}

/// A request that somebody has ended to work on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedClaim {
    /// The request.
    pub request: Request,
    /// The run that worked on it, and is no longer needed.
    pub unwanted: Option<RunId>,
}

/// Requests to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// Which: several of one kind are one batch.
    pub ids: Vec<RequestId>,
    /// What the agent is asked.
    pub prompt: Text,
    /// What the task is to be called, if one is made.
    pub description: Text,
    /// The task to make if there is none to go on with, and its working directory.
    pub new_task: (TaskId, Text),
    /// How long the claim lasts if the server goes away.
    pub lease_millis: i64,
}

/// How much the server can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// How many more agents may work.
    pub free: u32,
    /// How many runs of requests stand in line.
    pub queued: u32,
}

/// When the dispatcher has something to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    /// When the first of those that wait was approved.
    pub first_approval: Option<Timestamp>,
    /// When the last of those that wait was approved.
    pub last_approval: Option<Timestamp>,
    /// When the first lease ends that the server does not keep.
    pub lease: Option<Timestamp>,
    /// When the first lease ends that the server keeps.
    pub kept_lease: Option<Timestamp>,
}

/// A job elsewhere that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The request that it is for.
    pub request_id: RequestId,
    /// What its command calls it.
    pub job_id: Text,
    /// The task of its hand-off.
    pub task_id: TaskId,
    /// Where its commands work.
    pub workspace: Text,
    /// The kind of the request.
    pub kind: Kind,
    /// The command that tells whether it is finished, unless the route is gone.
    pub poll_command: Option<Vec<Text>>,
    /// How many seconds lie between two questions.
    pub poll_seconds: u32,
}

/// What the dispatcher has before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DispatchLists {
    /// What is worked on, oldest first.
    pub running: Vec<DispatchedRequest>,
    /// What is approved and waits, in the order in which it will be started.
    pub waiting: Vec<WaitingRequest>,
    /// Kinds of which requests wait that nobody will start.
    pub held: Vec<HeldKind>,
    /// What has failed as often as it may.
    pub stuck: Vec<WaitingRequest>,
}

/// What files say now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesReport {
    /// The files that were looked at.
    pub files: Vec<FileReport>,
    /// Whether a tag that says `delegated` or `next` counts as approval.
    pub file_approval: bool,
}

/// What one file says now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// The file, an absolute path.
    pub file: Text,
    /// The tree that it is in, where its requests are worked on.
    pub root: Text,
    /// Its tags that stand for requests.
    pub tags: Vec<FileTag>,
    /// Its tags that stand for alerts.
    pub alerts: Vec<FileAlert>,
}

/// What is still to be done when requests and files were brought into agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Tags that are to be changed.
    pub changes: Vec<TagChange>,
    /// Tags of alerts that are to be changed.
    pub alerts: Vec<AlertTagChange>,
    /// Runs that are no longer needed.
    pub unwanted: Vec<RunId>,
}

/// A tag that is to say where its request stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagChange {
    /// The file.
    pub file: Text,
    /// The tree that it is in.
    pub root: Text,
    /// The line, from 1.
    pub line: u32,
    /// What the line is about.
    pub title: String,
    /// What it says.
    pub was: RequestState,
    /// How many recoveries the file tells of.
    pub recoveries_told: u32,
    /// The request.
    pub request: Request,
}

/// A tag that is to say that its alert is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertTagChange {
    /// The alert.
    pub id: AlertId,
    /// The file.
    pub file: Text,
    /// The tree that it is in.
    pub root: Text,
    /// The line, from 1.
    pub line: u32,
    /// What the line is about.
    pub title: String,
}

/// An alert to be raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaiseAlert {
    /// Its id.
    pub id: AlertId,
    /// What must be seen.
    pub message: Text,
    /// The task that it is about.
    pub task_id: Option<TaskId>,
    /// Who raises it.
    pub by: Actor,
}
