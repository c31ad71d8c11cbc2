//! How agents run: what to start, and what its output means.

pub mod providers;
