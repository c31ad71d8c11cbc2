//! The table `requests`, and requests with all that belongs to them.

mod dispatch;
mod find;
mod jobs;
mod leases;
mod overview;
mod write;

pub use dispatch::{due, next};
pub use find::{
    StoredRequest, after, count_of_task, find, find_number, has_of_handoff, has_open_of_task,
    of_handoff, page,
};
pub use jobs::{find_job, find_job_start, list_jobs};
pub use leases::{list_expired, renew_leases};
pub use overview::{HeldRow, list_claimed, list_held, list_stuck};
pub use write::{follow_handoff, insert, insert_archived, update, update_links};
