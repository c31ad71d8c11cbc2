//! The command line of each provider.

use std::collections::BTreeMap;
use std::path::Path;

use super::tools::tool_names;
use crate::domain::{Agent, Provider, ProviderSession};
use crate::supervisor::StopSignal;

const DEFAULT_TOOLS: &str = "Bash(file-tools *)";

const DEFAULT_PERMISSIONS: &str = "bypassPermissions";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    pub program: String,
    /// Never contains the prompt, which is passed as standard input.
    pub arguments: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub stop_signal: StopSignal,
    /// Whether the program takes the agent's spec as a file. Otherwise the spec is prepended to the prompt.
    pub takes_system_file: bool,
}

/// Returns the command line of an agent. `resume` is the session to continue.
pub fn command_line(
    agent: &Agent,
    system_file: &Path,
    resume: Option<&ProviderSession>,
) -> CommandLine {
    let mut line = match agent.provider {
        Provider::ClaudeCode => claude_code(agent, system_file, resume),
        Provider::Codex => codex(agent, resume),
        Provider::OpenCode => opencode(agent, resume),
        Provider::Gemini => gemini(agent, resume),
        Provider::Command => {
            let mut line = CommandLine::new("", &[]);
            line.add_extra(agent);
            line
        }
    };
    if let Some(program) = &agent.program {
        program.as_str().clone_into(&mut line.program);
    }
    let own = agent
        .environment
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()));
    line.environment.extend(own);
    line
}

impl CommandLine {
    fn new(program: &str, environment: &[(&str, &str)]) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            stop_signal: StopSignal::Terminate,
            takes_system_file: false,
        }
    }

    fn add<const N: usize>(&mut self, arguments: [&str; N]) {
        self.arguments.extend(arguments.map(str::to_owned));
    }

    /// Adds the arguments of the agent's configuration.
    fn add_extra(&mut self, agent: &Agent) {
        self.arguments
            .extend(agent.arguments.iter().map(ToString::to_string));
    }
}

fn or_default<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.trim().is_empty() {
        default
    } else {
        text
    }
}

fn claude_code(agent: &Agent, system_file: &Path, resume: Option<&ProviderSession>) -> CommandLine {
    let mut line = CommandLine::new(
        "claude",
        &[
            // The answer to a notification about background work would replace the final message.
            ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // The default takes three minutes to notice an unreachable API.
            ("CLAUDE_CODE_MAX_RETRIES", "4"),
        ],
    );
    line.takes_system_file = true;
    let allowed = or_default(agent.allowed_tools.as_str(), DEFAULT_TOOLS);
    line.add(["-p", "--output-format", "stream-json", "--verbose"]);
    line.add([
        "--tools",
        &tool_names(allowed).join(","),
        "--allowedTools",
        allowed,
    ]);
    line.add([
        "--permission-mode",
        or_default(agent.permission_mode.as_str(), DEFAULT_PERMISSIONS),
    ]);
    line.add([
        "--append-system-prompt-file",
        &system_file.to_string_lossy(),
    ]);
    if let Some(model) = &agent.model {
        line.add(["--model", model.as_str()]);
    }
    if let Some(session) = resume {
        line.add(["--resume", session.as_str()]);
    }
    line.add_extra(agent);
    line
}

fn codex(agent: &Agent, resume: Option<&ProviderSession>) -> CommandLine {
    let mut line = CommandLine::new("codex", &[]);
    // On SIGTERM, Codex exits at once and leaves its commands running.
    line.stop_signal = StopSignal::Interrupt;
    let sandbox = match or_default(agent.permission_mode.as_str(), DEFAULT_PERMISSIONS) {
        "bypassPermissions" => "danger-full-access",
        "plan" => "read-only",
        _ => "workspace-write",
    };
    line.add(["exec", "--json", "--skip-git-repo-check", "-s", sandbox]);
    if let Some(model) = &agent.model {
        line.add(["-m", model.as_str()]);
    }
    line.add_extra(agent);
    if let Some(session) = resume {
        line.add(["resume", session.as_str()]);
    }
    line.add(["-"]);
    line
}

fn opencode(agent: &Agent, resume: Option<&ProviderSession>) -> CommandLine {
    let mut line = CommandLine::new("opencode", &[("OPENCODE_DISABLE_AUTOUPDATE", "1")]);
    line.add(["run", "--format", "json"]);
    if or_default(agent.permission_mode.as_str(), DEFAULT_PERMISSIONS) == "bypassPermissions" {
        line.add(["--auto"]);
    }
    if let Some(model) = &agent.model {
        line.add(["-m", model.as_str()]);
    }
    if let Some(session) = resume {
        line.add(["-s", session.as_str()]);
    }
    line.add_extra(agent);
    line
}

fn gemini(agent: &Agent, resume: Option<&ProviderSession>) -> CommandLine {
    let mut line = CommandLine::new(
        "gemini",
        &[
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            // The relaunched process ignores signals.
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ],
    );
    line.add(["-o", "stream-json"]);
    if or_default(agent.permission_mode.as_str(), DEFAULT_PERMISSIONS) == "bypassPermissions" {
        line.add(["--yolo"]);
    }
    if let Some(model) = &agent.model {
        line.add(["-m", model.as_str()]);
    }
    if let Some(session) = resume {
        line.add(["--resume", session.as_str()]);
    }
    line.add_extra(agent);
    line
}
