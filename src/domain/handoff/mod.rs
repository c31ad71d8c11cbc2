//! Hand-offs: the work of agents on a task, with its runs, reports and traces.

mod analytics;
mod asked;
mod chain_entry;
mod context;
mod days;
mod door;
mod handoff;
mod id;
mod limits;
mod lineage;
mod outcome;
mod provider_session;
mod report;
mod run;
mod span;
mod trace;
mod usage;

pub use analytics::{
    AgentPair, CommonPath, HandoffAnalytics, HandoffCount, HandoffFigures, PairFigures,
};
pub use asked::{AskedHandoff, LiveHandoff};
pub(super) use chain_entry::ChainEntryWire;
pub use chain_entry::{ChainEntry, HandoffEnd, HandoffRequest, MovedConversation};
pub use context::{Context, HandoffMetadata, Merge};
pub use days::{Day, DayFigures, DayQuery, IllegalDay};
pub use door::Door;
pub use handoff::Handoff;
pub use id::HandoffId;
pub use limits::{ChainLimit, ChainLimits};
pub use lineage::Lineage;
pub use outcome::Outcome;
pub use provider_session::{IllegalProviderSession, ProviderSession};
pub use report::{Report, ReportResult};
pub use run::{Run, RunId, RunIdentity, RunState, Slots};
pub use span::HandoffSpan;
pub use trace::{IllegalTraceId, IllegalTraceParent, SpanId, TraceId, TraceParent};
pub use usage::UsageSum;

#[cfg(test)]
pub(super) use chain_entry::tests::any_entry;
