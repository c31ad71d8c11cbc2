//! Agents: the configured workers, with their names, roles and skills.

mod agent;
mod change;
mod check;
pub mod context;
mod environment;
mod name;
mod permissions;
mod role;
mod skill;
mod values;

pub use agent::{Agent, Isolation, OutputForm, Provider, RunLimit, match_agent_name};
pub use change::{AgentChange, Capabilities};
pub use check::OWN_ENVIRONMENT;
pub use environment::Environment;
pub use name::AgentName;
pub use permissions::{
    AllowedTool, Cell, Commands, Grant, OWN_COMMANDS, Permissions, allowed_tools,
    cell as permission_cell, mode as permission_mode, tools as permitted_tools,
};
pub use role::{IllegalRole, Role};
pub use skill::{IllegalSkill, Skill};
