//! What tests stand on: the API without a network, and the real program.

mod app;
pub mod invariants;
mod random;
mod server;

pub use app::{Reply, TestApp};
pub use random::{Random, setting};
pub use server::{Chorus, Server};
