//! The nouns and rules of Chorus: types, state machines and the wire format.
//!
//! Nothing here does I/O, reads a clock or knows a database. Types serialise to the shapes that other programs
//! rely on; state changes are plain functions that return what changed or why not.

mod agent;
mod archive;
mod attachment;
mod event;
mod handoff;
mod id;
mod idempotency;
mod lineage;
mod message;
mod planning;
mod queue;
mod refusal;
mod run;
mod status;
mod summary;
mod task;
mod text;
mod timestamp;
mod trace;
mod usage;

pub use agent::{Agent, OutputForm, Provider, match_agent_name};
pub use archive::TaskArchive;
pub use attachment::{Attachment, AttachmentId, Filename};
pub use event::{Event, EventKind, EventType, History};
pub use handoff::{ChainEntry, Handoff, HandoffEnd, HandoffId, HandoffRequest, Mode, Outcome};
pub use id::{AgentName, IllegalName};
pub use idempotency::{Idempotency, IdempotencyKey};
pub use lineage::{ChainLimits, Lineage};
pub use message::{MessageType, NewMessage, RunIdentity};
pub use planning::{Planning, PlanningChange};
pub use queue::{MessageId, Queue, QueueMessage};
pub use refusal::Refusal;
pub use run::{Run, RunId, RunState};
pub use status::{Status, StatusName};
pub use summary::TaskSummary;
pub(crate) use task::TaskWire;
pub use task::{NewTask, Source, Task, TaskId};
pub use text::Text;
pub use timestamp::Timestamp;
pub use trace::{IllegalTraceId, IllegalTraceParent, SpanId, TraceId, TraceParent};
pub use usage::UsageSum;
