//! What tests stand on: the API without a network, and the real program.

mod app;
pub mod ask;
mod counting;
pub mod invariants;
pub mod model;
mod random;
mod server;

pub use app::{Reply, TestApp};
pub use counting::{CountingStore, Reads};
pub use random::{Random, setting};
pub use server::{Chorus, Server};
