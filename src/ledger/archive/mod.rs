//! Export of the whole ledger page by page, and import in one transaction.

mod export;
mod import;
mod task;
mod waiting;

pub use export::{
    Numbered, alerts, count_tasks, events, increments, ledger, mail, requests, tasks,
};
pub use import::{Import, ImportSource, Imported, import};
pub use waiting::{Waiting, waiting};
