//! The whole ledger, out page by page and in again in one transaction.

mod export;
mod import;
mod task;

pub use export::{Numbered, alerts, count_tasks, increments, mail, requests, tasks};
pub use import::{Import, ImportSource, Imported, import};
