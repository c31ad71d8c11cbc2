//! The command line of each provider.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::permissions::{Settings, settings};
use crate::domain::{Agent, Problems, Provider, ProviderSession, Text};
use crate::supervisor::StopSignal;

/// The time that a tool of an agent may take: as long as any other agent that it waits for. The limits of the run end it before.
const TOOL_MILLISECONDS: &str = "86400000";

/// The settings of Gemini CLI that every other of its settings overrides. Its shell tool otherwise gives up after five minutes
/// without output.
const GEMINI_DEFAULTS: &str = r#"{"tools":{"shell":{"inactivityTimeout":86400}}}"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    pub program: String,
    /// Never contains the prompt, which is passed as standard input.
    pub arguments: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Files of the run directory that the program reads.
    pub files: Vec<(PathBuf, String)>,
    pub stop_signal: StopSignal,
    /// Whether the program takes the agent's spec as a file. Otherwise the spec is prepended to the prompt.
    pub takes_system_file: bool,
    /// The file of the workspace that the program would read by itself, but does not because the workspace could run code by it.
    pub ignored_instructions: Option<&'static str>,
}

/// Returns the program of an agent; empty if it has none.
pub fn program_of(agent: &Agent) -> String {
    let own = agent.program.as_ref().map(Text::as_str);
    own.or_else(|| agent.provider.binary())
        .unwrap_or_default()
        .to_owned()
}

/// Returns the command line of an agent. `resume` is the session to continue. The problems name the permissions that the provider
/// cannot carry out.
pub fn command_line(
    agent: &Agent,
    system_file: &Path,
    resume: Option<&ProviderSession>,
) -> Result<CommandLine, Problems> {
    let granted = settings(agent)?;
    let mut line = match agent.provider {
        Provider::ClaudeCode => claude_code(agent, granted, system_file, resume),
        Provider::Codex => codex(agent, granted, resume),
        Provider::OpenCode => opencode(agent, granted, resume),
        Provider::Gemini => gemini(agent, granted, system_file, resume),
        Provider::Command => {
            let mut line = CommandLine::new(&[]);
            line.add_extra(agent);
            line
        }
    };
    line.program = program_of(agent);
    let own = agent
        .environment
        .values()
        .map(|(name, value)| (name.to_string(), value.to_string()));
    line.environment.extend(own);
    Ok(line)
}

impl CommandLine {
    fn new(environment: &[(&str, &str)]) -> Self {
        Self {
            program: String::new(),
            arguments: Vec::new(),
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            files: Vec::new(),
            stop_signal: StopSignal::Terminate,
            takes_system_file: false,
            ignored_instructions: None,
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

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.insert(name.to_owned(), value.into());
    }
}

fn claude_code(
    agent: &Agent,
    granted: Settings,
    system_file: &Path,
    resume: Option<&ProviderSession>,
) -> CommandLine {
    let mut line = CommandLine::new(&[
        // The answer to a notification about background work would replace the final message.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        // The default takes three minutes to notice an unreachable API.
        ("CLAUDE_CODE_MAX_RETRIES", "4"),
        // The shell tool otherwise ends a command, such as a hand-off that waits, after two minutes.
        ("BASH_DEFAULT_TIMEOUT_MS", TOOL_MILLISECONDS),
        ("BASH_MAX_TIMEOUT_MS", TOOL_MILLISECONDS),
    ]);
    line.takes_system_file = true;
    line.add(["-p", "--output-format", "stream-json", "--verbose"]);
    line.arguments.extend(granted.arguments);
    if !granted.everything {
        // Otherwise a workspace runs its hooks and its servers of tools, whatever the agent may do.
        line.add(["--setting-sources", "user", "--strict-mcp-config"]);
        line.ignored_instructions = Some("CLAUDE.md");
    }
    line.add([
        "--append-system-prompt-file",
        &system_file.to_string_lossy(),
    ]);
    if let Some(model) = &agent.model {
        line.add(["--model", model.as_str()]);
    }
    if let Some(session) = resume {
        // Otherwise the session keeps the spec that it began with.
        line.add(["--system-prompt-snapshot", "off"]);
        line.add(["--resume", session.as_str()]);
    }
    line.add_extra(agent);
    line
}

fn codex(agent: &Agent, granted: Settings, resume: Option<&ProviderSession>) -> CommandLine {
    let mut line = CommandLine::new(&[]);
    // On SIGTERM, Codex exits at once and leaves its commands running.
    line.stop_signal = StopSignal::Interrupt;
    line.add(["exec", "--json", "--skip-git-repo-check"]);
    line.arguments.extend(granted.arguments);
    // A login shell resets PATH, so it would not find `chorus`.
    line.add(["-c", "allow_login_shell=false"]);
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

fn opencode(agent: &Agent, granted: Settings, resume: Option<&ProviderSession>) -> CommandLine {
    let mut line = CommandLine::new(&[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        // The shell tool otherwise ends a command, such as a hand-off that waits, after two minutes.
        (
            "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS",
            TOOL_MILLISECONDS,
        ),
    ]);
    if let Some(permissions) = granted.json {
        line.set("OPENCODE_PERMISSION", permissions);
    }
    if !granted.everything {
        // Otherwise a workspace runs its servers of tools, whatever the agent may do.
        line.set("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
        line.ignored_instructions = Some("AGENTS.md");
    }
    // Without its log, OpenCode does not say that it waits for an API that does not answer.
    line.add([
        "run",
        "--format",
        "json",
        "--print-logs",
        "--log-level",
        "ERROR",
    ]);
    line.arguments.extend(granted.arguments);
    if let Some(model) = &agent.model {
        line.add(["-m", model.as_str()]);
    }
    if let Some(session) = resume {
        line.add(["-s", session.as_str()]);
    }
    line.add_extra(agent);
    line
}

fn gemini(
    agent: &Agent,
    granted: Settings,
    system_file: &Path,
    resume: Option<&ProviderSession>,
) -> CommandLine {
    let mut line = CommandLine::new(&[
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        // The relaunched process ignores signals.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ]);
    let defaults = system_file.with_file_name("gemini-defaults.json");
    line.set(
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
        defaults.to_string_lossy(),
    );
    line.files.push((defaults, GEMINI_DEFAULTS.to_owned()));
    line.add(["-o", "stream-json"]);
    line.arguments.extend(granted.arguments);
    if let Some(rules) = granted.policy {
        let policy = system_file.with_file_name("gemini-policy.toml");
        line.add(["--policy", &policy.to_string_lossy()]);
        line.files.push((policy, rules));
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
