//! Hand-offs: who hands to whom, in whose name, and how far.

mod analytics;
pub mod caller;
pub mod lineage;

pub use analytics::analytics;
