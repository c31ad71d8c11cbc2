//! Refusals: the rules that an operation would break.
//!
//! A refusal is data. `crate::words` has its sentences.

use super::{
    AgentName, AlertId, ChainLimit, Correspondent, Filename, HandoffId, IncrementId,
    IncrementState, Kind, MailId, MessageId, Minutes, Problems, RequestId, RequestMove,
    RequestState, Role, SessionId, StatusName, Stranger, TaskId, Text, ToolName,
};

/// A rule that an operation would break. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    TaskNotFound(TaskId),
    AgentNotFound(AgentName),
    HandoffNotFound(HandoffId),
    SessionNotFound(SessionId),
    ToolNotFound(String),
    IncrementNotFound(IncrementId),
    AttachmentNotFound(String),
    RequestNotFound(String),
    AlertNotFound(String),
    MailNotFound(String),
    MessageNotFound(String),
    /// An agent has the message already.
    MessageDelivered(MessageId),
    /// A run may not speak as a person.
    ChatByRun(AgentName),
    /// A chat needs an agent, and none has worked on the task.
    NoAgentToChatWith(TaskId),
    /// A chat needs a message, and none waits.
    NothingToSend,
    /// A hand-off or a mail names an agent that is not configured.
    UnknownAgent {
        asked: String,
        known: Vec<AgentName>,
    },
    /// A call names a tool that is not configured.
    NoSuchTool {
        asked: String,
        known: Vec<ToolName>,
    },
    IncrementNotBlocked {
        id: IncrementId,
        state: IncrementState,
    },
    /// The tasks of the cycle in order; the first task is repeated at the end.
    DependencyCycle(Vec<TaskId>),
    /// The task belongs to a finished round of its increment.
    RoundIsOver {
        task_id: TaskId,
        round: u32,
        current: u32,
    },
    /// The task is a stage of an increment; only a report of its agent decides its result.
    PartOfIncrement(TaskId),
    /// A run on a stage of an increment, or on a task below one, may not change the plan of the increment.
    PlannedByStage(TaskId),
    AgentExists(AgentName),
    /// The names differ only in case or separators, which name matching ignores.
    AgentAlike {
        name: AgentName,
        like: AgentName,
    },
    /// Open hand-offs, tools or routes refer to the agent.
    AgentNeeded {
        name: AgentName,
        tasks: Vec<TaskId>,
        tools: Vec<ToolName>,
        kinds: Vec<Kind>,
    },
    AgentUnavailable(AgentName),
    /// The task already has an open hand-off with this agent.
    AgentActive(AgentName),
    /// The caller has no token and is not a person at this machine.
    TokenNeeded(Stranger),
    /// The decision is the operator's, and the caller is a person without the token.
    OperatorTokenNeeded,
    /// Only the operator may send mail as the operator.
    OperatorTokenNeededToSend,
    /// Only the router may send mail as the router.
    SentAsRouter,
    /// A run may not make the operator's decision.
    DecisionByRun(AgentName),
    /// A run may not change the configuration.
    SetUpByRun(AgentName),
    /// A run may not resolve alerts.
    AlertResolvedByRun(AgentName),
    /// Only the run that works on the task may report.
    ReportWithoutRun,
    /// A run may move sessions only on behalf of its own agent.
    NotItsOwnName(AgentName),
    /// A run may act only for its own agent.
    NotItsOwnAgent {
        agent: AgentName,
        asked: AgentName,
    },
    /// A masked run may choose only its own workspace and the directories in it.
    WorkspaceOutOfReach {
        agent: AgentName,
        own: Text,
    },
    /// A run may change only its own task and the tasks below it.
    OutOfReach {
        agent: AgentName,
        own: TaskId,
    },
    /// A run may not raise the time limit of its own agent.
    SessionLimitRaised {
        agent: AgentName,
        limit: Minutes,
    },
    NoOpenHandoff {
        task_id: TaskId,
        /// The agent of the last hand-off.
        last: Option<AgentName>,
    },
    LimitExceeded {
        what: ChainLimit,
        limit: u32,
        /// The agents of the chain, in order.
        chain: Vec<AgentName>,
    },
    /// The run has ended, so its token is no longer valid.
    RunEnded,
    /// The hand-off has already moved control; only the first call counts.
    AlreadyMoved {
        task_id: TaskId,
        agent_name: AgentName,
    },
    TaskEnded {
        task_id: TaskId,
        status: StatusName,
    },
    /// A run may read only the session of its own task, and the sessions below that task.
    NotItsSession {
        agent: AgentName,
        own: Option<Text>,
    },
    /// A run may hand over only its own task.
    NotItsOwnTask(TaskId),
    ToolExists(ToolName),
    ToolNotAllowed {
        agent: AgentName,
        tool: ToolName,
        /// `None` means all agents except the target.
        allowed: Option<Vec<AgentName>>,
    },
    Invalid(Problems),
    ContextTooLarge {
        limit: usize,
    },
    /// The agent has no session on the task.
    NothingToResume(AgentName),
    /// The id of the agent's last session could be read as an option of its program.
    UnusableSession(AgentName),
    AttachmentExists(Filename),
    /// The state of the request does not allow the step.
    WrongState {
        id: RequestId,
        state: RequestState,
        holder: Option<AgentName>,
        step: RequestMove,
    },
    /// The tag of the request was removed from its file.
    Withdrawn(RequestId),
    /// A later claim has replaced the claim with this fencing token.
    StaleClaim {
        id: RequestId,
        state: RequestState,
        shown: u32,
        fencing: u32,
    },
    /// Only the operator may approve.
    OperatorOnly,
    /// Only the operator may approve, and the caller sent no token.
    OperatorTokenMissing,
    /// A run may end only its own claims.
    NotItsClaim {
        id: RequestId,
        agent: AgentName,
    },
    /// These requests were refused, so no request was approved.
    NotAll(Vec<Self>),
    /// The response would exceed the size limit.
    TooMuchAtOnce {
        limit: usize,
    },
    AlertResolved {
        id: AlertId,
        by: String,
    },
    NobodyHasRole(Role),
    TooManyRecipients {
        count: usize,
        limit: usize,
    },
    /// The named recipient did not receive the mail, or no recipient was named and there are several.
    NoSuchRecipient {
        id: MailId,
        asked: Option<Correspondent>,
        recipients: Vec<Correspondent>,
    },
    /// A run may mark only the mail of its own agent.
    NotItsMail {
        id: MailId,
        agent: AgentName,
    },
    /// Only the operator may mark the operator's mail.
    OperatorsMail(MailId),
    /// The idempotency key was used for a different request.
    KeyReused,
}

/// The class of a refusal, with the data for its error details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass<'a> {
    NotFound,
    UnknownAgent { known: &'a [AgentName] },
    Conflict,
    Invalid,
    InvalidFields(&'a Problems),
    TooLarge { limit: usize },
    LimitExceeded { chain: &'a [AgentName], limit: u32 },
    Forbidden,
    Unauthorized,
}

impl Refusal {
    /// Classifies the refusal. Error codes, HTTP statuses and details depend on the class alone.
    pub fn class(&self) -> RefusalClass<'_> {
        match self {
            Self::TaskNotFound(_)
            | Self::AgentNotFound(_)
            | Self::HandoffNotFound(_)
            | Self::SessionNotFound(_)
            | Self::ToolNotFound(_)
            | Self::NoSuchTool { .. }
            | Self::RequestNotFound(_)
            | Self::AlertNotFound(_)
            | Self::IncrementNotFound(_)
            | Self::MailNotFound(_)
            | Self::MessageNotFound(_)
            | Self::AttachmentNotFound(_) => RefusalClass::NotFound,
            Self::UnknownAgent { known, .. } => RefusalClass::UnknownAgent { known },
            Self::LimitExceeded { chain, limit, .. } => RefusalClass::LimitExceeded {
                chain,
                limit: *limit,
            },
            Self::Invalid(problems) => RefusalClass::InvalidFields(problems),
            Self::ContextTooLarge { limit } | Self::TooMuchAtOnce { limit } => {
                RefusalClass::TooLarge { limit: *limit }
            }
            Self::RunEnded
            | Self::TokenNeeded(_)
            | Self::OperatorTokenNeeded
            | Self::OperatorTokenNeededToSend
            | Self::OperatorsMail(_)
            | Self::OperatorTokenMissing => RefusalClass::Unauthorized,
            Self::NobodyHasRole(_)
            | Self::NoAgentToChatWith(_)
            | Self::NothingToSend
            | Self::TooManyRecipients { .. }
            | Self::NoSuchRecipient { .. } => RefusalClass::Invalid,
            Self::NotItsOwnTask(_)
            | Self::NotItsSession { .. }
            | Self::NotItsOwnName(_)
            | Self::OutOfReach { .. }
            | Self::PlannedByStage(_)
            | Self::WorkspaceOutOfReach { .. }
            | Self::DecisionByRun(_)
            | Self::ChatByRun(_)
            | Self::SetUpByRun(_)
            | Self::AlertResolvedByRun(_)
            | Self::ReportWithoutRun
            | Self::SentAsRouter
            | Self::ToolNotAllowed { .. }
            | Self::NotItsClaim { .. }
            | Self::NotItsOwnAgent { .. }
            | Self::SessionLimitRaised { .. }
            | Self::NotItsMail { .. }
            | Self::OperatorOnly => RefusalClass::Forbidden,
            Self::AgentActive(_)
            | Self::AgentExists(_)
            | Self::AgentAlike { .. }
            | Self::AgentNeeded { .. }
            | Self::AgentUnavailable(_)
            | Self::AlreadyMoved { .. }
            | Self::TaskEnded { .. }
            | Self::ToolExists(_)
            | Self::NoOpenHandoff { .. }
            | Self::NothingToResume(_)
            | Self::UnusableSession(_)
            | Self::AttachmentExists(_)
            | Self::MessageDelivered(_)
            | Self::WrongState { .. }
            | Self::Withdrawn(_)
            | Self::StaleClaim { .. }
            | Self::NotAll(_)
            | Self::AlertResolved { .. }
            | Self::DependencyCycle(_)
            | Self::PartOfIncrement(_)
            | Self::RoundIsOver { .. }
            | Self::IncrementNotBlocked { .. }
            | Self::KeyReused => RefusalClass::Conflict,
        }
    }
}
