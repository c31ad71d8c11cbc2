//! Agents: resolving their names, creating, changing and deleting them.

mod change;
mod delete;
mod find;
mod put;
mod seed;
mod write;

pub use change::{ChangeAgent, change};
pub use delete::delete;
pub use find::{describe_unknown, find, get, list, programs, resolve, resolve_any};
pub use put::{AgentPut, PutAgent, put};
pub use seed::{seed, seed_specialists};
pub use write::{insert, reconsider_unsuited_tasks};
