//! What tests stand on: the API without a network, and the real program.

mod app;
pub mod ask;
#[cfg(feature = "otlp")]
pub mod collector;
mod counting;
mod desk;
mod follower;
pub mod invariants;
pub mod load;
pub mod model;
mod random;
pub mod requests;
mod server;
mod shown;
mod workshop;

pub use app::{BEGINNING, OPERATOR, Reply, TestApp};
pub use counting::{Reads, count_reads};
pub use desk::Desk;
pub use follower::Follower;
pub use random::{Random, setting};
pub use server::{Chorus, Server};
pub use shown::{indented, settled};
pub use workshop::{Events, Gate, Workshop};
pub use workshop::{begin, ended, hand_off, last_id, own_port, run, task};
