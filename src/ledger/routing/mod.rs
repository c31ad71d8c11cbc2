//! Routing: choosing agents for tasks that name a role, and following up on the result.

mod choice;
mod ended;
mod mail;
mod release;
mod report;
mod route;
mod waiting;

pub use choice::{Circumstances, explain};
pub use ended::follow_end;
pub use mail::mail_operator;
pub use release::release;
pub use report::{GiveReport, give_report};
pub use route::{Routed, next, route};
