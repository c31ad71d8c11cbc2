//! Permissions: the actions that an agent may take, in the same words for every provider.
//!
//! # How it works
//! An agent's `permissionMode` and `allowedTools` are words of Claude Code, which gets them as they are. [`Permissions::of`] reads
//! them as grants, and [`cell`] maps each grant to the settings of a provider. A word that a provider cannot carry out is a problem
//! of the agent: it is refused when the agent is made, and an agent that was made before does not start. Every agent may run
//! `chorus`, in every mode: an agent that cannot hand off, report or write mail is of no use.

mod table;
#[cfg(test)]
mod tests;
mod tools;

pub use table::{Cell, Grant, cell};
pub use tools::{AllowedTool, allowed_tools};

use super::agent::{Agent, Provider};
use crate::domain::Problems;
use tools::CommandRule;

/// The tools of an agent that names none: it can read, edit in its workspace, and run `chorus`.
const DEFAULT_TOOLS: &str = "Read Glob Grep Edit(./**) Write(./**) Bash(chorus *)";

/// The mode of an agent with an empty mode, as imported files may have.
const DEFAULT_MODE: &str = "bypassPermissions";

/// The commands that every agent may run: `chorus`, and the script that does the same without it.
pub const OWN_COMMANDS: [&str; 2] = ["chorus", "scripts/agent/handoff.sh"];

/// The modes that every provider understands.
const MODES: [&str; 5] = [
    "default",
    "acceptEdits",
    "dontAsk",
    "plan",
    "bypassPermissions",
];

/// The modes of Claude Code alone.
const MODES_OF_CLAUDE: [&str; 2] = ["auto", "manual"];

/// The permissions of an agent, without the words of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// Whether the agent may do all that its user may.
    pub everything: bool,
    /// Whether the agent may change files in its workspace.
    pub edit: bool,
    pub commands: Commands,
    /// Whether the agent may read the web.
    pub network: bool,
}

/// The commands that an agent may run besides [`OWN_COMMANDS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commands {
    /// Commands that begin with one of these.
    Prefixes(Vec<String>),
    Any,
}

impl Permissions {
    /// Reads the permissions of an agent. The problems name the words that its provider cannot carry out.
    pub fn of(agent: &Agent) -> Result<Self, Problems> {
        let provider = agent.provider;
        let tools = allowed_tools(tools(agent));
        let mut permissions = Self::granted(mode(agent), &tools);
        let mut problems = Problems::default();
        check_mode(provider, mode(agent), &mut problems);
        if takes_words(provider) && !permissions.everything {
            let cannot_limit = cell(provider, Grant::Prefix).is_refused();
            if agent.allowed_tools.is_blank() && cannot_limit {
                permissions.commands = Commands::Any;
            } else {
                let is_limited = permissions.commands != Commands::Any;
                check_tools(provider, &tools, is_limited, &mut problems);
            }
        }
        problems.into_result(|| permissions)
    }

    fn granted(mode: &str, tools: &[AllowedTool]) -> Self {
        let has = |grant| tools.iter().any(|tool| tool.grant() == Some(grant));
        let rules: Vec<_> = tools.iter().filter_map(AllowedTool::command).collect();
        let bypasses = mode == "bypassPermissions";
        let prefixes = rules.iter().filter_map(|rule| match rule {
            CommandRule::Prefix(prefix) if !OWN_COMMANDS.contains(&prefix.as_str()) => {
                Some(prefix.clone())
            }
            _ => None,
        });
        // In this mode, an agent with Bash runs every command: its qualifiers have no effect.
        let is_any = rules.contains(&CommandRule::Any) || (bypasses && !rules.is_empty());
        Self {
            everything: bypasses && !rules.is_empty(),
            edit: mode != "plan" && has(Grant::Edit),
            commands: if is_any {
                Commands::Any
            } else {
                Commands::Prefixes(prefixes.collect())
            },
            network: has(Grant::Network),
        }
    }
}

/// Whether permissions are translated for a provider: Claude Code gets its own words, and a `command` none.
const fn takes_words(provider: Provider) -> bool {
    !matches!(provider, Provider::ClaudeCode | Provider::Command)
}

/// Returns the mode of an agent.
pub fn mode(agent: &Agent) -> &str {
    or_default(agent.permission_mode.as_str(), DEFAULT_MODE)
}

/// Returns the tools of an agent.
pub fn tools(agent: &Agent) -> &str {
    or_default(agent.allowed_tools.as_str(), DEFAULT_TOOLS)
}

fn or_default<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.trim().is_empty() {
        default
    } else {
        text
    }
}

fn check_mode(provider: Provider, mode: &str, problems: &mut Problems) {
    let own: &[&str] = match provider {
        Provider::Command => return,
        Provider::ClaudeCode => &MODES_OF_CLAUDE,
        _ => &[],
    };
    let known: Vec<_> = MODES.iter().chain(own).copied().collect();
    if !known.contains(&mode) {
        let (last, first) = known.split_last().expect("there are modes");
        problems.add(
            "permissionMode",
            format!(
                "{} has no mode {mode:?}; use {} or {last}",
                provider.as_str(),
                first.join(", ")
            ),
        );
    }
}

/// Finds the tools that a provider cannot grant as they are written.
fn check_tools(
    provider: Provider,
    tools: &[AllowedTool],
    is_limited: bool,
    problems: &mut Problems,
) {
    let name = provider.as_str();
    let needs_bash = is_limited && cell(provider, Grant::Prefix).is_refused();
    for tool in tools {
        let problem = match (tool.grant(), tool.command()) {
            (None, _) if tool.is_harmless() => continue,
            (None, _) => format!("{name} has no tool like {tool}; remove it"),
            (Some(_), Some(CommandRule::Other)) if is_limited && !needs_bash => {
                format!("{name} cannot limit commands to {tool}; use the form Bash(PREFIX *)")
            }
            (Some(_), Some(_)) => continue,
            (Some(_), None) if tool.is_whole() => continue,
            (Some(_), None) => {
                format!("{name} cannot limit {0} to {tool}; use {0}", tool.name)
            }
        };
        problems.add("allowedTools", problem);
    }
    if needs_bash {
        problems.add(
            "allowedTools",
            format!(
                "{name} cannot limit an agent to certain commands, because its sandbox limits the effects of all commands; add Bash, or use another provider"
            ),
        );
    }
}
