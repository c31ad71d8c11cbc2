//! Requests: creating, approving, claiming and finishing them, and dispatching them to agents.
//!
//! [`transition`](transition::transition) is the primitive: it moves a stored request to a state and records the move.
//! Operations first check that the step is allowed.

mod approve;
mod claim;
mod create;
mod dispatch;
mod files;
mod find;
mod finish;
mod handoff_end;
mod import;
mod job_start;
mod jobs;
pub mod kind_rules;
mod leases;
mod offer;
mod overview;
mod recover;
mod transition;

pub use approve::{approve, leave_to_next, withdraw};
pub use claim::{ClaimRequest, Heartbeat, claim, heartbeat};
pub use create::create;
pub use dispatch::{Dispatch, dispatch, due, next_to_dispatch};
pub use files::{
    FileReport, FilesReport, Reconciled, TagChange, reconcile_files, record_late_tags,
    record_written_tag, tagged_files,
};
pub use find::{exists, get, list, load};
pub use finish::{EndClaim, EndedClaim, finish, requeue};
pub use handoff_end::{give_back_claims, handoff_ended};
pub use import::{ImportedRequest, import};
pub use job_start::{find_job_start, record_job_start, starts_job};
pub use jobs::{end_job, find_job, list_jobs};
pub use leases::{expire_leases, renew_leases};
pub use offer::{Offer, offer};
pub use overview::{Overview, overview};
