//! Routing: the choice of an agent for a task, and the router's messages.

mod assignment;
mod ending;
mod mail;
mod remedy;
mod suitability;
mod waiting;

pub use assignment::assignment;
pub use ending::{EndedHandoff, NextStep};
pub use mail::{blocked_mail, handoff_mail, unsuited_mail};
pub use remedy::Remedy;
pub use suitability::{
    Applicant, Assessment, Candidate, Criterion, Lack, Past, Rank, RouteChoice, Verdict, best,
    judge,
};
pub use waiting::{Choice, UnmetDependency, WaitReason};
