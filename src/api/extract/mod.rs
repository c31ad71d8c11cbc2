//! Extractors: parse the parts of a request for handlers. They hold no rules: a check that must run before the body is read
//! calls `ledger::rights`.

mod body;
mod caller;
mod headers;
mod path;
mod query;

pub(super) use body::{Body, LossyBody, OptionalBody, RawBody, parse, read};
pub(super) use caller::{MayChat, MayDecide, MaySetUp};
pub(super) use headers::{IDEMPOTENCY_KEY, Once, OnlyNew, Trace};
pub(super) use path::{ChangedTask, ChangedTaskItem, Id, PlannedTask, Segment, TaskItem, find};
pub(super) use query::Query;
