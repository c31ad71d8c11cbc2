//! Increments: work in stages that is tested, fixed and verified in rounds.

mod create;
mod find;
mod plan;
mod retry;
mod round;
mod stages;

pub use create::{NewIncrement, create};
pub use find::{exists, find_workspace, get, list};
pub use retry::retry;
pub use round::{NextRound, follow_stage};
pub use stages::{check_own_report, check_round, closed_stage_status, is_round_over, refresh};
