//! Fixtures: the API without a network, the program as a process, and scripted agents.

mod app;
mod browser;
pub mod call;
#[cfg(feature = "otlp")]
pub mod collector;
mod counting;
mod events;
mod failing_disk;
mod follower;
mod injections;
pub mod invariants;
pub mod load;
pub mod model;
mod operator;
pub mod preload;
mod random;
pub mod requests;
mod sandbox;
mod server;
mod shortage;
mod snapshot;

pub use app::{OPERATOR_TOKEN, Reply, START_TIME, TestApp};
pub use browser::{Browser, DOWN, ENTER, ESCAPE, Look};
pub use counting::{Reads, Simultaneous, count_reads, count_simultaneous_reads};
pub use events::Events;
pub use failing_disk::FailingDisk;
pub use follower::Follower;
pub use injections::Injections;
pub use operator::Operator;
pub use random::{Random, env_number};
pub use sandbox::{Gate, Sandbox, TIMEOUT};
pub use sandbox::{
    create_task, hand_off, last_handoff_id, parent_of, reserve_port, run_agent, start_handoff,
    variable_of, wait_for_end,
};
pub use server::{Chorus, Server};
pub use shortage::{NoDescriptors, ProcessLimit, ReadOnly, SmallDisk, leave_out};
pub use snapshot::{indent_json, redact};
