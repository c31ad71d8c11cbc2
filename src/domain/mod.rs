//! The domain of Chorus: types, state machines and the wire format.
//!
//! Nothing here performs I/O, reads a clock or depends on a database. Types serialise to the documented wire format.
//! State changes are plain functions that return the change or a refusal.

mod agent;
mod alert;
mod archive;
mod attention;
mod board;
mod caller;
mod event;
mod fault;
mod handoff;
mod idempotency;
mod ids;
mod increment;
mod mail;
mod message;
mod page;
mod refusal;
mod request;
mod routing;
mod rules;
mod session;
pub mod tag;
mod task;
mod text;
mod tool;

pub use agent::context as agent_context;
pub use agent::{
    Agent, AgentChange, AgentName, AllowedTool, Capabilities, Cell, Commands, Grant, IllegalRole,
    IllegalSkill, Isolation, OWN_COMMANDS, OWN_ENVIRONMENT, OutputForm, Permissions, Provider,
    Role, RunLimit, Skill, allowed_tools, match_agent_name, permission_cell, permission_mode,
    permitted_tools,
};
pub use alert::{Alert, AlertId, AlertQuery};
pub use archive::{ArchivedMessage, Conversation, TaskArchive};
pub use attention::{Attention, AttentionCursor, AttentionItem, AttentionKind, AttentionPlace};
pub use board::{Board, BoardColumn, BoardFilter, BoardPlace, BoardQuery, Card};
pub use caller::{Caller, Stranger};
pub use event::{AgentEvent, Event, EventKind, EventType, History, Recorded, ToolChange, Topic};
pub use fault::Fault;
pub use handoff::{
    AgentPair, AskedHandoff, ChainEntry, ChainLimit, ChainLimits, CommonPath, Context, Day,
    DayFigures, DayQuery, Door, Handoff, HandoffAnalytics, HandoffCount, HandoffEnd,
    HandoffFigures, HandoffId, HandoffMetadata, HandoffRequest, HandoffSpan, IllegalDay,
    IllegalProviderSession, IllegalTraceId, IllegalTraceParent, Lineage, LiveHandoff, Merge,
    MovedConversation, Outcome, PairFigures, ProviderSession, Report, ReportResult, Run, RunId,
    RunIdentity, RunState, Slots, SpanId, TraceId, TraceParent, UsageSum,
};
pub use idempotency::{Idempotency, IdempotencyKey};
pub use ids::{FoundId, IdPart, Noun};
pub use increment::{
    Increment, IncrementId, IncrementPart, IncrementState, IncrementTasks, Stage, Step,
};
pub use mail::{
    Address, Correspondent, IllegalAddress, Mail, MailContent, MailId, MailQuery, MailType,
    MailVersion, NewMail, Recipient, SearchWords, ThreadId, Urgency, check_handoff_type,
    check_subject,
};
pub use message::{Message, MessageQuery, MessageType, Move, NewMessage};
pub use page::Page;
pub use refusal::{Refusal, RefusalClass};
pub use request::{
    Actor, AfterFailure, DispatchedRequest, Due, Effort, HeldKind, HeldReason, IllegalKind, Job,
    JobStart, Kind, KindMode, KindRule, Lease, NewRequest, Priority, Recovery, Request, RequestId,
    RequestMove, RequestQuery, RequestSource, RequestSourceType, RequestState, Transition,
    WaitingRequest,
};
pub use routing::{
    Applicant, Assessment, Candidate, Choice, Criterion, EndedHandoff, Lack, NextStep, Past, Rank,
    RouteChoice, UnmetDependency, Verdict, WaitReason, assignment, best, blocked_mail,
    handoff_mail, judge,
};
pub use rules::Rules;
pub use session::{
    ConversationHistory, HistoryMessage, Session, SessionHandoff, SessionId, SessionMove,
};
pub use tag::{
    Agreement, AlertAgreement, Comparison, FileAlert, FileTag, FollowedText, KnownTag,
    match_moved_tags, match_tags,
};
pub use task::{
    Attachment, AttachmentFolder, AttachmentId, Dependency, DependencyOutcome, Filename,
    IllegalPriority, MessageId, Needs, NeedsChange, NewTask, Planning, PlanningChange, Queue,
    QueueMessage, ReadyQuery, Routing, SharedPlan, Source, Status, StatusName, Task, TaskId,
    TaskPlan, TaskPriority, TaskQuery, TaskSummary, TaskTree, TreeHandoff,
};
pub(crate) use task::{DependencyForm, TaskWire};
pub(crate) use text::field::distinct;
pub use text::{
    IllegalMinutes, IllegalName, Minutes, Problem, Problems, Text, Timestamp, is_deceptive,
};
pub use tool::{
    ContextVariable, Function, FunctionDefinition, FunctionKind, IllegalToolName, Parameters, Tool,
    ToolName, VariableType,
};
