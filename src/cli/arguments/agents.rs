//! Arguments of `chorus agent`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::ServerArguments;
use crate::domain::{Isolation, Minutes, Provider, Role, Skill};

/// The names of all arguments of [`AgentFields`] and [`OfferedFields`], one of which `edit` requires.
const FIELDS: [&str; 17] = [
    "provider",
    "program",
    "arguments",
    "environment",
    "spec",
    "allowed_tools",
    "permission_mode",
    "model",
    "output_form",
    "max_seconds",
    "idle_seconds",
    "isolation",
    "roles",
    "skills",
    "max_session_duration",
    "responsibilities",
    "available",
];

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AgentCommand {
    /// Create an agent
    #[command(alias = "add")]
    Create {
        /// Name: letters, digits, ., _ and -
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        #[command(flatten)]
        fields: Box<AgentFields>,
        #[command(flatten)]
        offered: OfferedFields,
        /// Create the agent without giving it hand-offs yet
        #[arg(long)]
        unavailable: bool,
        /// JSON file with the whole agent; - reads standard input
        #[arg(long, conflicts_with_all = &FIELDS[..16], conflicts_with = "unavailable")]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Create and change the agents that files describe
    ///
    /// A file is the JSON of one agent, as `chorus export` writes it, or a file of roles in YAML or JSON. Below `agent_roles`, it has an agent under each name, with `skills`, `typical_tasks`,
    /// `max_session_duration` (minutes), `responsibilities` and, if needed, `provider`, `model`, `program`, `arguments`, `spec_path`,
    /// `allowed_tools`, `permission_mode`, `available` and `roles`. An agent that exists is changed by its name; fields that a file
    /// does not give stay as they are.
    Import(ImportAgentsArguments),
    /// List agents
    List {
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show an agent
    Show {
        /// Agent to show
        agent: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Change fields of an agent
    ///
    /// Options that are not given leave their fields as they are. A repeatable option replaces the whole list.
    #[command(group(ArgGroup::new("change").required(true).multiple(true).args(FIELDS).args(["clear", "file"])))]
    Edit {
        /// Agent to change
        #[arg(value_name = "AGENT")]
        name: String,
        #[command(flatten)]
        fields: Box<AgentFields>,
        #[command(flatten)]
        offered: OfferedFields,
        /// Whether the agent accepts hand-offs
        #[arg(long, value_name = "true|false")]
        available: Option<bool>,
        /// Fields to clear, separated by commas (repeatable)
        #[arg(long, value_name = "FIELD", value_delimiter = ',')]
        clear: Vec<Clearable>,
        /// JSON file with the fields to change; - reads standard input
        #[arg(long, conflicts_with_all = FIELDS, conflicts_with = "clear")]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Delete an unused agent; its hand-offs stay
    Rm {
        /// Agent to delete
        #[arg(value_name = "AGENT")]
        name: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Declare the roles, skills and limits of an agent
    ///
    /// An agent declares its own capabilities inside its run.
    #[command(group(ArgGroup::new("change").required(true).multiple(true).args(&FIELDS[12..])))]
    Capabilities {
        /// Agent [default: the run's agent]
        #[arg(env = "CHORUS_AGENT", value_name = "AGENT")]
        name: String,
        #[command(flatten)]
        offered: OfferedFields,
        /// Whether the agent accepts hand-offs
        #[arg(long, value_name = "true|false")]
        available: Option<bool>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportAgentsArguments {
    /// YAML or JSON files; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Provider of new agents for which the file names none
    #[arg(long, value_parser = provider)]
    pub provider: Option<Provider>,
    /// Show the result without changing anything
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// The fields that describe how an agent runs.
#[derive(Debug, Args)]
pub(in crate::cli) struct AgentFields {
    /// Provider: claude-code, codex, opencode, gemini or command
    ///
    /// `command` runs any program.
    #[arg(long, value_parser = provider)]
    pub provider: Option<Provider>,
    /// Program to run instead of the provider's own
    ///
    /// A new agent with a program needs no `--provider`: the name of the program tells it, and any other program is a `command`.
    #[arg(long, value_name = "PATH")]
    pub program: Option<String>,
    /// Argument of the program (repeatable)
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub arguments: Vec<String>,
    /// Environment variable, not for secrets (repeatable)
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    pub environment: Vec<(String, String)>,
    /// Markdown file with the agent's system prompt
    ///
    /// The path is relative to the data directory. The default is agents/NAME.md, and no file for the provider `command`.
    #[arg(long, value_name = "PATH")]
    pub spec: Option<String>,
    /// Tools that the agent may use
    #[arg(long, value_name = "TOOLS")]
    pub allowed_tools: Option<String>,
    /// Permission mode of the provider, such as default or plan
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// Model that the agent uses
    #[arg(long)]
    pub model: Option<String>,
    #[arg(
        long,
        value_name = "FORM",
        help = "Final message: all, last_line or json:FIELD"
    )]
    pub output_form: Option<String>,
    /// Seconds that a run may take
    #[arg(long, value_name = "SECONDS")]
    pub max_seconds: Option<u64>,
    /// Seconds that a run may print nothing
    #[arg(long, value_name = "SECONDS")]
    pub idle_seconds: Option<u64>,
    /// Isolation of the agent's runs: none or masked
    ///
    /// `masked` hides the data directory from the agent, except its own workspace. The default is that of the server.
    #[arg(long, value_parser = isolation)]
    pub isolation: Option<Isolation>,
}

/// The capabilities of an agent.
#[derive(Debug, Args)]
pub(in crate::cli) struct OfferedFields {
    /// Roles, such as testing,fixing (repeatable)
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub roles: Vec<Role>,
    /// Skills, such as python,sql (repeatable)
    #[arg(long, value_name = "SKILL", value_delimiter = ',')]
    pub skills: Vec<Skill>,
    /// Maximum minutes of a run
    ///
    /// Holds whatever other limits allow.
    #[arg(long, value_name = "MINUTES")]
    pub max_session_duration: Option<Minutes>,
    /// Responsibilities of the agent
    #[arg(long, value_name = "TEXT")]
    pub responsibilities: Option<String>,
}

/// An optional field of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Clearable {
    Spec,
    AllowedTools,
    Model,
    Program,
    Arguments,
    Environment,
    MaxSeconds,
    IdleSeconds,
    Isolation,
    Roles,
    Skills,
    MaxSessionDuration,
    Responsibilities,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as LANG=C".to_owned()),
    }
}

fn provider(word: &str) -> Result<Provider, String> {
    Provider::parse(word).ok_or_else(|| {
        let known = Provider::ALL.map(Provider::as_str);
        format!("write one of {}", known.join(", "))
    })
}

pub(super) fn isolation(word: &str) -> Result<Isolation, String> {
    Isolation::parse(word).ok_or_else(|| {
        let known = Isolation::ALL.map(Isolation::as_str);
        format!("write one of {}", known.join(", "))
    })
}
