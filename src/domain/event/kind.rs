//! The kinds of events that Chorus records.

use crate::domain::{
    AgentName, AlertId, Correspondent, Filename, HandoffId, IncrementId, Kind, MailId, MailType,
    Merge, MessageId, MessageType, Outcome, Priority, ReportResult, RequestState, Role, StatusName,
    TaskId, Text, ToolName, Transition,
};

/// What Chorus itself records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A task was made.
    TaskCreated {
        /// What is to be done.
        description: Text,
    },
    /// Somebody set the status.
    StatusChanged {
        /// What it was.
        from: StatusName,
        /// What it is.
        to: StatusName,
    },
    /// Somebody set planning fields.
    PlanningUpdated,
    /// Somebody set what a task needs.
    TaskUpdated {
        /// What was set.
        changed: Vec<&'static str>,
    },
    /// All that a task waited for has ended as it must.
    TaskReady {
        /// Who is to work on it.
        agent_role: Option<Role>,
    },
    /// Nobody suits a task.
    NoSuitableAgent {
        /// Who is missing.
        reason: Text,
    },
    /// A person must look at a task before it goes on.
    TaskBlocked {
        /// Why.
        reason: Text,
    },
    /// An agent said what came out of its work.
    Reported {
        /// Who.
        agent_name: AgentName,
        /// What came out.
        result: ReportResult,
        /// It in a sentence.
        summary: Text,
    },
    /// An increment was made.
    IncrementCreated {
        /// Which.
        id: IncrementId,
        /// What it is.
        title: Text,
    },
    /// An increment is mended and tested again.
    IncrementRound {
        /// Which.
        id: IncrementId,
        /// The round that begins.
        round: u32,
        /// The task that mends it.
        fix_task_id: TaskId,
    },
    /// An increment is verified.
    IncrementDone {
        /// Which.
        id: IncrementId,
    },
    /// A person must look at an increment before it goes on.
    IncrementBlocked {
        /// Which.
        id: IncrementId,
        /// Why.
        reason: Text,
    },
    /// A person has let an increment go on.
    IncrementResumed {
        /// Which.
        id: IncrementId,
    },
    /// An agent was asked.
    HandoffStarted {
        /// Which.
        agent_name: AgentName,
    },
    /// A hand-off ended.
    HandoffEnded {
        /// Who was asked.
        agent_name: AgentName,
        /// How it ended.
        outcome: Outcome,
        /// The final message, or what went wrong.
        output: Text,
    },
    /// An agent handed its task on; the work goes on in a child task.
    ChildTaskCreated {
        /// The child.
        task_id: TaskId,
        /// Who was asked.
        agent_name: AgentName,
    },
    /// Context came with a hand-off.
    ContextMerged(Merge),
    /// A hand-off tool was made, changed or deleted.
    Tool {
        /// Which.
        name: ToolName,
        /// What was done.
        change: ToolChange,
    },
    /// An agent was made, changed or deleted.
    Agent {
        /// Which.
        name: AgentName,
        /// What was done.
        event: AgentEvent,
    },
    /// A request was made.
    RequestCreated {
        /// What is to be done.
        title: Text,
        /// What kind of work it is.
        kind: Kind,
        /// How urgent it is.
        priority: Priority,
    },
    /// A request changed its state.
    RequestMoved(Transition),
    /// The command of an asynchronous route has started a job elsewhere.
    JobStarted {
        /// What the command calls it.
        job_id: Text,
    },
    /// What a file says of a request changed, and with it what is to be done.
    RequestEdited {
        /// What is to be done.
        title: Text,
    },
    /// The tag of a request was removed from its file.
    RequestWithdrawn {
        /// The file.
        file: Text,
    },
    /// The tag of a request is back.
    RequestRestored {
        /// The file.
        file: Text,
    },
    /// What a file says of a request does not count.
    RequestTagIgnored {
        /// The file.
        file: Text,
        /// What it says.
        state: RequestState,
        /// Why that does not count.
        reason: &'static str,
    },
    /// Somebody set who gets requests of which kind.
    RoutesChanged {
        /// The kinds that have a route.
        kinds: Vec<Kind>,
    },
    /// Something must be seen by a person.
    AlertRaised {
        /// Which alert.
        id: AlertId,
        /// What must be seen.
        message: Text,
        /// Who raised it.
        by: Text,
    },
    /// An alert was resolved.
    AlertResolved {
        /// Which alert.
        id: AlertId,
        /// Who resolved it.
        by: Text,
    },
    /// Somebody wrote to somebody.
    MailSent {
        /// Which mail.
        id: MailId,
        /// What it is about.
        mail_type: MailType,
        /// Who sent it.
        from: Correspondent,
        /// Who gets it.
        to: Vec<Correspondent>,
        /// What it says in one line.
        subject: Text,
    },
    /// A mail was put into the prompt of a hand-off.
    MailDelivered {
        /// Which mail.
        id: MailId,
        /// To whom.
        recipient: Correspondent,
        /// The hand-off.
        handoff_id: HandoffId,
    },
    /// A mail was read.
    MailRead {
        /// Which mail.
        id: MailId,
        /// By whom.
        recipient: Correspondent,
    },
    /// A mail was acknowledged.
    MailAcknowledged {
        /// Which mail.
        id: MailId,
        /// By whom.
        recipient: Correspondent,
    },
    /// A run's process was started.
    RunStarted {
        /// Who works.
        agent_name: AgentName,
    },
    /// An agent said or did something.
    MessageAdded {
        /// What kind of line it is.
        message_type: MessageType,
        /// What it says, or how it begins.
        content: Text,
    },
    /// A message came for whoever works next.
    MessageQueued {
        /// Which.
        message_id: MessageId,
    },
    /// A file came.
    AttachmentAdded {
        /// Its name.
        filename: Filename,
        /// How many bytes it has.
        size: u64,
    },
    /// A file went.
    AttachmentRemoved {
        /// Its name.
        filename: Filename,
    },
}

/// What was done to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChange {
    /// It was made.
    Created,
    /// It was changed.
    Changed,
    /// It was deleted.
    Deleted,
}

/// What was done to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// It was made.
    Created,
    /// These keys of it were changed.
    Changed(Vec<String>),
    /// It was deleted.
    Deleted,
}
