//! Routing: the choice of an agent for a task, and what the router writes.

mod assignment;
mod mail;
mod suitability;

pub use assignment::assignment;
pub use mail::{blocked_mail, handoff_mail};
pub use suitability::{Applicant, Candidate, Past, RouteChoice, best, judge, nobody_suits};
