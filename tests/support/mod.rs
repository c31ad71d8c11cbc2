//! What tests stand on: the API without a network, and the real program.

mod app;
mod server;

pub use app::{Reply, TestApp};
pub use server::{Chorus, Server};
