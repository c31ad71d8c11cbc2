//! The table `requests`, and requests with their transitions, recoveries and tags.

mod dispatch;
mod find;
mod jobs;
mod leases;
mod next;
mod overview;
mod write;

pub use dispatch::{due, next};
pub use find::{
    Claimant, StoredRequest, after, claimed_by, count_of_task, find, find_number, has_of_handoff,
    has_open_of_task, of_handoff, page,
};
pub use jobs::{find_job, find_job_start, list_jobs};
pub use leases::{list_expired, postpone_leases, renew_leases};
pub use next::{kinds_of_next, next_of_kind};
pub use overview::{HeldRow, count_delegated, list_claimed, list_held, list_unclaimed};
pub use write::{insert, insert_archived, move_to_handoff, update, update_links};
