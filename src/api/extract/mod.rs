//! Extractors: what a handler reads from a request. They decide nothing: a check that must come before the body is read asks
//! `ledger::rights`.

mod body;
mod caller;
mod headers;
mod path;
mod query;

pub(super) use body::{Body, MendedBody, OptionalBody, RawBody, parse, read};
pub(super) use caller::{MayDecide, MaySetUp};
pub(super) use headers::{IDEMPOTENCY_KEY, Once, OnlyNew, Trace};
pub(super) use path::{ChangedTask, ChangedTaskItem, Id, Segment, TaskItem, find};
pub(super) use query::Query;
