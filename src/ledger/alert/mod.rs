//! Alerts: notices for the operator, shown until they are resolved.

mod files;
mod find;
mod raise;

pub use files::{AlertTagChange, reconcile_file, record_written_tag};
pub use find::{exists, get, list};
pub use raise::{RaiseAlert, raise, resolve};
