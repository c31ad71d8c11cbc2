//! The kinds of events.

use crate::domain::{
    AgentName, AlertId, Correspondent, Filename, HandoffId, IncrementId, Kind, MailId, MailType,
    Merge, MessageId, MessageType, Outcome, Priority, ReportResult, RequestState, Role, RunId,
    StatusName, TaskId, Text, ToolName, Transition,
};

/// A kind of event with its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    TaskCreated {
        description: Text,
    },
    StatusChanged {
        from: StatusName,
        to: StatusName,
    },
    PlanningUpdated,
    /// The needs of a task changed.
    TaskUpdated {
        /// The names of the changed fields.
        changed: Vec<&'static str>,
    },
    /// All dependencies of a task are met.
    TaskReady {
        agent_role: Option<Role>,
    },
    /// No agent qualifies for a task.
    NoSuitableAgent {
        reason: Text,
    },
    /// The operator must decide before the work on a task continues.
    TaskBlocked {
        reason: Text,
    },
    Reported {
        agent_name: AgentName,
        result: ReportResult,
        summary: Text,
    },
    IncrementCreated {
        id: IncrementId,
        title: Text,
    },
    /// A new round fixes an increment and tests it again.
    IncrementRound {
        id: IncrementId,
        round: u32,
        fix_task_id: TaskId,
    },
    /// An increment is verified.
    IncrementDone {
        id: IncrementId,
    },
    /// The operator must decide before the work on an increment continues.
    IncrementBlocked {
        id: IncrementId,
        reason: Text,
    },
    /// The operator resumed a blocked increment.
    IncrementResumed {
        id: IncrementId,
    },
    HandoffStarted {
        agent_name: AgentName,
    },
    HandoffEnded {
        agent_name: AgentName,
        outcome: Outcome,
        /// The final message or the error.
        output: Text,
    },
    /// An agent ended without the answer of a hand-off that it asked for.
    AnswerMissed {
        /// The agent that was asked.
        agent_name: AgentName,
        task_id: TaskId,
        handoff_id: HandoffId,
    },
    /// An agent handed its task on, and the work continues in a child task.
    ChildTaskCreated {
        task_id: TaskId,
        agent_name: AgentName,
    },
    /// A hand-off added variables to the context of a task.
    ContextMerged(Merge),
    Tool {
        name: ToolName,
        change: ToolChange,
    },
    Agent {
        name: AgentName,
        event: AgentEvent,
    },
    RequestCreated {
        title: Text,
        kind: Kind,
        priority: Priority,
    },
    RequestMoved(Transition),
    /// The start command of an async route printed the id of its job.
    JobStarted {
        job_id: Text,
    },
    /// The text of a request changed in its file.
    RequestEdited {
        title: Text,
    },
    /// The tag of a request was removed from its file.
    RequestWithdrawn {
        file: Text,
    },
    /// A removed tag is back in its file.
    RequestRestored {
        file: Text,
    },
    /// A tag in a file demands a state that the request does not take.
    RequestTagIgnored {
        file: Text,
        state: RequestState,
        reason: &'static str,
    },
    /// The tag of a request says `done` while its agent still runs.
    RequestEnding {
        file: Text,
    },
    /// An agent started although the file of its request did not say `claimed` in time.
    RequestTagLate {
        file: Text,
    },
    RoutesChanged {
        /// All kinds that have a rule now.
        kinds: Vec<Kind>,
    },
    AlertRaised {
        id: AlertId,
        message: Text,
        by: Text,
    },
    AlertResolved {
        id: AlertId,
        by: Text,
    },
    MailSent {
        id: MailId,
        mail_type: MailType,
        from: Correspondent,
        to: Vec<Correspondent>,
        subject: Text,
    },
    /// The prompt of a hand-off includes the mail.
    MailDelivered {
        id: MailId,
        recipient: Correspondent,
        handoff_id: HandoffId,
    },
    MailRead {
        id: MailId,
        recipient: Correspondent,
    },
    MailAcknowledged {
        id: MailId,
        recipient: Correspondent,
    },
    /// The process of a run started.
    RunStarted {
        agent_name: AgentName,
    },
    /// A claimed run could not start, and is queued again.
    RunRequeued {
        agent_name: AgentName,
        reason: Text,
    },
    /// Processes of a run survived its end by force.
    ProcessesLeft {
        run_id: RunId,
        count: usize,
    },
    /// A run added a message to the conversation.
    MessageAdded {
        message_type: MessageType,
        /// The text or its beginning.
        content: Text,
    },
    /// A message for the next agent arrived.
    MessageQueued {
        message_id: MessageId,
    },
    /// The prompt of a hand-off includes the message.
    MessageDelivered {
        message_id: MessageId,
        handoff_id: HandoffId,
    },
    /// The agent whose prompt included the message never began, so the message waits again.
    MessageReturned {
        message_id: MessageId,
    },
    /// A person took the message back before any agent got it.
    MessageTakenBack {
        message_id: MessageId,
    },
    /// The conversation continues on another task, and the message waits there.
    MessageMoved {
        message_id: MessageId,
        task_id: TaskId,
    },
    AttachmentAdded {
        filename: Filename,
        size: u64,
    },
    AttachmentRemoved {
        filename: Filename,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChange {
    Created,
    Changed,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    Created,
    /// The changed keys.
    Changed(Vec<String>),
    Deleted,
}
