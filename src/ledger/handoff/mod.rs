//! Hand-offs: delegating, transferring and moving a session; beginning and ending them.

mod analytics;
mod answer;
mod begin;
mod calling_run;
pub mod chat;
mod close;
mod control;
mod delegate;
mod end;
mod find;
pub mod lineage;
mod move_session;
mod transfer;

pub use analytics::{analytics, figures_by_day};
pub use answer::{
    Delegated, Wait, cancelled_runs_below, find_wait, record_delivery, record_missed, record_wait,
    taken_down,
};
pub use begin::{Begin, Begun, begin};
pub use calling_run::CallingRun;
pub use chat::{Chat, Chatted, chat, send_waiting};
pub use close::{Cause, Closed, Ending, close};
pub use control::{LeftRun, Moved};
pub use delegate::{Delegate, delegate};
pub use end::{cancel, complete, end_by_number};
pub use find::{get, of_task, of_trace};
pub use move_session::{MoveSession, move_session};
pub use transfer::{Transfer, transfer};
