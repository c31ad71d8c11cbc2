//! Refusals: the rules that an operation would break.
//!
//! A refusal is data. `crate::words` has its sentences.

use super::{
    AgentName, AlertId, ChainLimit, Correspondent, Filename, HandoffId, IncrementId,
    IncrementState, Kind, MailId, Minutes, Problems, RequestId, RequestMove, RequestState, Role,
    SessionId, StatusName, TaskId, ToolName,
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
    /// The tasks of the cycle in order, the first one again at the end.
    DependencyCycle(Vec<TaskId>),
    /// The task is of an earlier round of its increment.
    RoundIsOver {
        task_id: TaskId,
        round: u32,
        current: u32,
    },
    /// The agent of a stage reports the result itself.
    PartOfIncrement(TaskId),
    AgentExists(AgentName),
    /// Names are matched leniently, so they must differ by more than case and separators.
    AgentAlike {
        name: AgentName,
        like: AgentName,
    },
    /// Open hand-offs of tasks, tools or routes name the agent.
    AgentNeeded {
        name: AgentName,
        tasks: Vec<TaskId>,
        tools: Vec<ToolName>,
        kinds: Vec<Kind>,
    },
    AgentUnavailable(AgentName),
    /// A task has at most one open hand-off; this agent has it.
    AgentActive(AgentName),
    /// A server that listens beyond this machine answers nobody without a token.
    TokenNeeded,
    /// Only the operator decides for a person.
    OperatorTokenNeeded,
    /// Only the operator sends mail as the operator.
    OperatorTokenNeededToSend,
    /// Only the router sends mail as the router.
    SentAsRouter,
    /// A run of this agent does not decide for a person.
    DecisionByRun(AgentName),
    /// A run of this agent does not set up Chorus.
    SetUpByRun(AgentName),
    /// A run of this agent does not resolve alerts.
    AlertResolvedByRun(AgentName),
    /// A report comes from the run that works on the task.
    ReportWithoutRun,
    /// A run of this agent moves sessions only in the agent's name.
    NotItsOwnName(AgentName),
    /// A run speaks for its own agent alone.
    NotItsOwnAgent {
        agent: AgentName,
        asked: AgentName,
    },
    /// A run changes its own task and the tasks below it.
    OutOfReach {
        agent: AgentName,
        own: TaskId,
    },
    /// A run cannot raise the time limit of its own agent.
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
        /// The agents, the first one first.
        chain: Vec<AgentName>,
    },
    /// The run that asks has ended, so that its token is no longer valid.
    RunEnded,
    /// Control moves once: the first call wins.
    AlreadyMoved {
        task_id: TaskId,
        agent_name: AgentName,
    },
    TaskEnded {
        task_id: TaskId,
        status: StatusName,
    },
    /// A run hands over its own task only.
    NotItsOwnTask(TaskId),
    ToolExists(ToolName),
    ToolNotAllowed {
        agent: AgentName,
        tool: ToolName,
        /// None stands for all agents but the target.
        allowed: Option<Vec<AgentName>>,
    },
    Invalid(Problems),
    ContextTooLarge {
        limit: usize,
    },
    /// The agent has no session on the task.
    NothingToResume(AgentName),
    AttachmentExists(Filename),
    /// The request's state does not allow the step.
    WrongState {
        id: RequestId,
        state: RequestState,
        holder: Option<AgentName>,
        step: RequestMove,
    },
    /// The request's tag was removed from its file.
    Withdrawn(RequestId),
    /// A later claim has replaced the one that asks.
    StaleClaim {
        id: RequestId,
        state: RequestState,
        shown: u32,
        fencing: u32,
    },
    /// Only the operator approves.
    OperatorOnly,
    /// Only the operator approves, and a person who showed no token may be the operator.
    OperatorTokenMissing,
    /// A run ends its own claims only.
    NotItsClaim {
        id: RequestId,
        agent: AgentName,
    },
    /// Of several requests, these were refused; none was approved.
    NotAll(Vec<Self>),
    /// The answer would be larger than the limit.
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
    /// The named recipient does not get the mail, or none was named and several get it.
    NoSuchRecipient {
        id: MailId,
        asked: Option<Correspondent>,
        recipients: Vec<Correspondent>,
    },
    /// A run marks the mail of its own agent only.
    NotItsMail {
        id: MailId,
        agent: AgentName,
    },
    /// The operator's token is needed to mark the operator's mail.
    OperatorsMail(MailId),
    /// The idempotency key was used for a different request.
    KeyReused,
}

/// The kind of a refusal, with the data that programs get beside it.
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
    /// Classifies the refusal. Codes, statuses and details follow from the class alone.
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
            | Self::TokenNeeded
            | Self::OperatorTokenNeeded
            | Self::OperatorTokenNeededToSend
            | Self::OperatorsMail(_)
            | Self::OperatorTokenMissing => RefusalClass::Unauthorized,
            Self::NobodyHasRole(_)
            | Self::TooManyRecipients { .. }
            | Self::NoSuchRecipient { .. } => RefusalClass::Invalid,
            Self::NotItsOwnTask(_)
            | Self::NotItsOwnName(_)
            | Self::OutOfReach { .. }
            | Self::DecisionByRun(_)
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
            | Self::AttachmentExists(_)
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
