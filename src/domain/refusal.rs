//! Refusals: the rules that an operation would break.

use super::{
    AgentName, AlertId, Correspondent, Filename, HandoffId, IncrementId, IncrementState, MailId,
    Minutes, Problems, RequestId, RequestMove, RequestState, Role, SessionId, TaskId, ToolName,
};

/// How many tasks of a cycle are named.
const NAMED: usize = 10;

/// Names tasks that wait for each other, the first ones and the last.
fn chain(tasks: &[TaskId]) -> String {
    let mut names: Vec<_> = tasks.iter().map(TaskId::as_str).collect();
    let more = format!("({} more)", names.len().saturating_sub(NAMED));
    if names.len() > NAMED {
        names.splice(NAMED - 1..names.len() - 1, [more.as_str()]);
    }
    names.join(" → ")
}

/// A rule that an operation would break. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such task.
    #[error("Task not found: {0}")]
    TaskNotFound(TaskId),
    /// There is no such agent.
    #[error("Unknown agent: {asked}")]
    UnknownAgent {
        /// The name that was asked for.
        asked: String,
        /// The names that there are.
        known: Vec<AgentName>,
    },
    /// There is no such increment.
    #[error("Increment not found: {0}")]
    IncrementNotFound(IncrementId),
    /// Only what is blocked needs a person to go on.
    #[error("Increment {id} is {}: only a blocked one can be tried again", state.as_str())]
    IncrementNotBlocked {
        /// The increment.
        id: IncrementId,
        /// Where it stands.
        state: IncrementState,
    },
    /// A task does not wait for itself.
    #[error("dependsOn: the tasks would wait for each other: {}", chain(.0))]
    DependencyCycle(Vec<TaskId>),
    /// What came after a stage went by how it ended.
    #[error(
        "Task {task_id} is of round {round} of its increment, which is in round {current}: what came of it stays. `chorus increment show` shows what goes on now"
    )]
    RoundIsOver {
        /// The task.
        task_id: TaskId,
        /// Its round.
        round: u32,
        /// The round that the increment is in.
        current: u32,
    },
    /// The agent of a stage says itself what came out.
    #[error(
        "Task {0} is a part of an increment: its agent itself says what came out, with `chorus report` or at the end of its last message. To ask another agent, and go on: `chorus handoff`"
    )]
    PartOfIncrement(TaskId),
    /// There is no such agent here.
    #[error("Agent not found: {0}")]
    AgentNotFound(AgentName),
    /// A name stands for one agent.
    #[error("Agent already exists: {0}. Change it, or choose another name")]
    AgentExists(AgentName),
    /// Names are matched leniently, so they must differ by more than that.
    #[error(
        "{name} would be taken for the agent {like}, which is there already; choose another name"
    )]
    AgentAlike {
        /// The name that was chosen.
        name: AgentName,
        /// The agent that is there.
        like: AgentName,
    },
    /// What is needed is not deleted.
    #[error("Agent {name} is still needed: {}. End or change that first", by.join("; "))]
    AgentNeeded {
        /// The agent.
        name: AgentName,
        /// What needs it.
        by: Vec<String>,
    },
    /// A run speaks for its own agent.
    #[error("This run of {agent} may speak for {agent} alone, not for {asked}")]
    NotItsOwnAgent {
        /// Whose run it is.
        agent: AgentName,
        /// Whom it wants to speak for.
        asked: AgentName,
    },
    /// A run changes its own task and those that came from it.
    #[error("This run of {agent} may only change its own task {own} and those below it")]
    OutOfReach {
        /// Whose run it is.
        agent: AgentName,
        /// Its own task.
        own: TaskId,
    },
    /// A run does not give itself more time.
    #[error(
        "A run of {agent} may lower its maxSessionDuration of {limit} minutes, not raise or remove it; a person can"
    )]
    SessionLimitRaised {
        /// The agent.
        agent: AgentName,
        /// What it is limited to.
        limit: Minutes,
    },
    /// The agent takes no hand-offs now.
    #[error("Agent not available: {0}. Make it available, or choose another")]
    AgentUnavailable(AgentName),
    /// A task has at most one open hand-off.
    #[error("Agent already active on task: {0}")]
    AgentActive(AgentName),
    /// A hand-off ends once.
    #[error("No agent is active on task {task_id}: {}", match last {
        None => "it has never been handed off".to_owned(),
        Some(agent) => format!("the last hand-off, to {agent}, has already ended"),
    })]
    NoOpenHandoff {
        /// The task.
        task_id: TaskId,
        /// Who worked on it last.
        last: Option<AgentName>,
    },
    /// A chain of hand-offs is bounded.
    #[error("The chain {} has reached its limit of {limit} {what}; go on without another hand-off, or start a new task", chain.join(" → "))]
    LimitExceeded {
        /// What is limited.
        what: &'static str,
        /// How much of it is allowed.
        limit: u32,
        /// Who handed on to whom.
        chain: Vec<String>,
    },
    /// Only a run that works hands on.
    #[error("The run that asks has ended")]
    RunEnded,
    /// Control moves once: the first call wins.
    #[error("Control of task {task_id} has already moved to {agent_name}; this call does nothing")]
    AlreadyMoved {
        /// The task.
        task_id: TaskId,
        /// Who has it.
        agent_name: AgentName,
    },
    /// What is done is not handed on.
    #[error("Task {task_id} is {status}: it can no longer be handed on")]
    TaskEnded {
        /// The task.
        task_id: TaskId,
        /// Its status.
        status: &'static str,
    },
    /// A run hands over its own task, not another's.
    #[error("A run may only pass on what it has: not task {0}")]
    NotItsOwnTask(TaskId),
    /// There is no such hand-off here.
    #[error("Hand-off not found: {0}")]
    HandoffNotFound(HandoffId),
    /// There is no such session.
    #[error("Session not found: {0}")]
    SessionNotFound(SessionId),
    /// There is no such tool.
    #[error("Tool not found: {0}")]
    ToolNotFound(String),
    /// There is no such tool to call.
    #[error("Tool not found: {asked}. {}", if known.is_empty() {
        "There are no tools yet".to_owned()
    } else {
        format!("The tools are: {}", known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    })]
    NoSuchTool {
        /// The name that was asked for.
        asked: String,
        /// The names that there are.
        known: Vec<ToolName>,
    },
    /// A name stands for one tool.
    #[error("Tool already exists: {0}. Change it, or choose another name")]
    ToolExists(ToolName),
    /// A tool says who may use it.
    #[error("{agent} may not use {tool}; it is for {}", match allowed {
        None => "all agents but its target".to_owned(),
        Some(allowed) => allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    })]
    ToolNotAllowed {
        /// Who asked.
        agent: AgentName,
        /// The tool.
        tool: ToolName,
        /// Who may use it.
        allowed: Option<Vec<AgentName>>,
    },
    /// Fields are not what they must be.
    #[error("{0}")]
    Invalid(Problems),
    /// The merged context is over its limit.
    #[error("The context would be too large: the limit is {limit} bytes")]
    ContextTooLarge {
        /// How many bytes are allowed.
        limit: usize,
    },
    /// Only a session that is known can be resumed.
    #[error("There is no session of {0} on this task to resume; start without `resume`")]
    NothingToResume(AgentName),
    /// Attachments are not overwritten.
    #[error("Attachment already exists: {0}. Delete it first, or choose another filename")]
    AttachmentExists(Filename),
    /// There is no such file.
    #[error("Attachment not found: {0}")]
    AttachmentNotFound(String),
    /// There is no such request.
    #[error("Request not found: {0}")]
    RequestNotFound(String),
    /// A request goes through its states in their order.
    #[error("Request {id} is {}{}: it cannot be {}", state.as_str(), match holder {
        Some(holder) => format!(" by {holder}"),
        None => String::new(),
    }, step.advice(*state))]
    WrongState {
        /// The request.
        id: RequestId,
        /// Where it stands.
        state: RequestState,
        /// Who has it.
        holder: Option<AgentName>,
        /// What was to be done.
        step: RequestMove,
    },
    /// Its tag was removed from its file.
    #[error(
        "Request {0} was withdrawn: its tag was removed from its file. Put the tag back to revive it"
    )]
    Withdrawn(RequestId),
    /// A later claim has replaced the one that asks.
    #[error("Request {id} is no longer yours: it is {}{}", state.as_str(), match state {
        RequestState::Claimed => format!(", and the number of its claim is {fencing}; you show {shown}"),
        _ => String::new(),
    })]
    StaleClaim {
        /// The request.
        id: RequestId,
        /// Where it stands.
        state: RequestState,
        /// What was shown.
        shown: u32,
        /// What counts.
        fencing: u32,
    },
    /// Only an operator approves.
    #[error("Only the operator moves a request out of `needs`")]
    OperatorOnly,
    /// A run ends its own claims.
    #[error("Request {id} is not claimed by this run of {agent}")]
    NotItsClaim {
        /// The request.
        id: RequestId,
        /// Who asked.
        agent: AgentName,
    },
    /// Several requests cannot be moved at once.
    #[error("Nothing was approved: {}", .0.join("; "))]
    NotAll(Vec<String>),
    /// An answer is bounded.
    #[error(
        "These requests have more than {limit} bytes together; nothing was approved. Approve fewer at once"
    )]
    TooMuchAtOnce {
        /// How many bytes are allowed.
        limit: usize,
    },
    /// There is no such alert.
    #[error("Alert not found: {0}")]
    AlertNotFound(String),
    /// An alert is resolved once.
    #[error("Alert {id} has already been resolved by {by}")]
    AlertResolved {
        /// The alert.
        id: AlertId,
        /// Who resolved it.
        by: String,
    },
    /// There is no such mail.
    #[error("Mail not found: {0}")]
    MailNotFound(String),
    /// Nobody gets what is sent to a role that nobody has.
    #[error("Nobody has the role {0}: give it to an agent, or name an agent instead")]
    NobodyHasRole(Role),
    /// A mail goes to a few.
    #[error("to: {count} would get this mail; at most {limit} may")]
    TooManyRecipients {
        /// How many there would be.
        count: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// Only who gets a mail reads or acknowledges it.
    #[error("recipient: {} mail {id}; name one of: {}", match asked {
        Some(asked) => format!("{asked} does not get"),
        None => "several get".to_owned(),
    }, recipients.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    NoSuchRecipient {
        /// The mail.
        id: MailId,
        /// Who was named.
        asked: Option<Correspondent>,
        /// Who gets it.
        recipients: Vec<Correspondent>,
    },
    /// A run reads and acknowledges the mail of its own agent.
    #[error("Mail {id} is not for {agent}: this run may not mark it")]
    NotItsMail {
        /// The mail.
        id: MailId,
        /// Whose run asked.
        agent: AgentName,
    },
    /// Nobody acts for the operator.
    #[error(
        "Mail {0} is for the operator, whose token is needed to mark it: Authorization: Bearer <the word in operator.token>; or name another `recipient`"
    )]
    OperatorsMail(MailId),
    /// A key stands for one request.
    #[error("This Idempotency-Key was used for a different request; choose another key")]
    KeyReused,
}
