//! Checks of the permissions of agents.

use super::Finding::{self, Bad, Note};
use crate::domain::{Agent, Commands, Permissions, Provider, allowed_tools, permitted_tools};

/// Finds agents whose permissions cannot be carried out, or are more than they seem.
pub(super) fn check(agents: &[Agent], findings: &mut Vec<Finding>) {
    let is_root = rustix::process::geteuid().is_root() && std::env::var_os("IS_SANDBOX").is_none();
    let mut as_root = Vec::new();
    for agent in agents {
        let permissions = match Permissions::of(agent) {
            Ok(permissions) => permissions,
            Err(problems) => {
                findings.push(Bad(
                    format!("agent {} cannot run: {problems}", agent.name),
                    format!("change it with chorus agent edit {}", agent.name),
                ));
                continue;
            }
        };
        if agent.provider == Provider::Command || !permissions.everything {
            continue;
        }
        if is_root && agent.provider == Provider::ClaudeCode {
            as_root.push(agent.name.as_str());
        }
        if permissions.commands == Commands::Any && names_commands(agent) {
            findings.push(Note(format!(
                "agent {} may run every command: with bypassPermissions, the commands in its allowedTools limit nothing\n      to do: change its permissionMode, for example to acceptEdits",
                agent.name
            )));
        }
    }
    if !as_root.is_empty() {
        findings.push(Bad(
            format!(
                "Claude Code refuses bypassPermissions as root: {} cannot run",
                as_root.join(", ")
            ),
            "run the server as an ordinary user, or change the agent's permissionMode".to_owned(),
        ));
    }
}

/// Whether all commands in the agent's tools are limited.
fn names_commands(agent: &Agent) -> bool {
    let tools = allowed_tools(permitted_tools(agent));
    let written: Vec<_> = tools
        .iter()
        .filter(|tool| tool.name == "Bash")
        .map(ToString::to_string)
        .collect();
    // Tools that the agent does not name mislead nobody.
    !agent.allowed_tools.is_blank()
        && !written.is_empty()
        && !written
            .iter()
            .any(|tool| tool == "Bash" || tool == "Bash(*)")
}
