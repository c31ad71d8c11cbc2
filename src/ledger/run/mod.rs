//! Runs: the executions of hand-offs, from claim to end.

mod briefing;
mod claim;
mod find;
mod finish;
mod launch;
mod limits;
mod messages;
mod slots;
mod token;
mod trouble;
mod waits;

pub use briefing::{Briefing, briefing};
pub use claim::{ClaimRun, claim, requeue, requeue_fresh, requeue_unproven, return_run, tags_due};
pub use find::{ClaimedRun, exists, find, of_handoff, running, running_ids};
pub use finish::{FinishRun, finish};
pub use launch::{record_launch, record_left};
pub use limits::{Launch, Limits};
pub use messages::record_messages;
pub use slots::free_slots;
pub use token::{TokenHolder, find_holder, token_holder};
pub use trouble::{Trouble, record_trouble};
pub use waits::{Waiting, cancelled_of, waited, waits};
