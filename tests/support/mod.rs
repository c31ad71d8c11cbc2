//! What tests stand on: the API without a network, and the real program.

mod app;
pub mod call;
#[cfg(feature = "otlp")]
pub mod collector;
mod counting;
mod follower;
pub mod invariants;
pub mod load;
pub mod model;
mod operator;
mod random;
pub mod requests;
mod server;
mod shown;
mod workshop;

pub use app::{BEGINNING, OPERATOR, Reply, TestApp};
pub use counting::{Reads, count_reads};
pub use follower::Follower;
pub use operator::Operator;
pub use random::{Random, env_number};
pub use server::{Chorus, Server};
pub use shown::{indented, settled};
pub use workshop::{Events, Gate, Workshop};
pub use workshop::{
    create_task, hand_off, last_handoff_id, own_port, run, start_handoff, wait_for_end,
};
