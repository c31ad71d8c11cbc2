//! What can be typed after `chorus agents`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::ServerArguments;
use crate::domain::{Minutes, Provider, Role, Skill};

/// What says that something is to be changed; the names of all arguments of [`AgentFields`] and [`OfferedFields`].
const FIELDS: [&str; 16] = [
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
    "roles",
    "skills",
    "max_session_duration",
    "responsibilities",
    "available",
];

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AgentsCommand {
    /// List the agents
    List {
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show an agent
    Show {
        /// The agent
        agent: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Make an agent
    Add {
        /// Its name: letters, digits, ., _ and -
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        #[command(flatten)]
        fields: Box<AgentFields>,
        #[command(flatten)]
        offered: OfferedFields,
        /// Let it take no hand-offs yet
        #[arg(long)]
        unavailable: bool,
        /// A file that has the agent as JSON; - reads it from standard input
        #[arg(long, conflicts_with_all = &FIELDS[..15], conflicts_with = "unavailable")]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Change an agent; what is not given stays as it is
    #[command(group(ArgGroup::new("change").required(true).multiple(true).args(FIELDS).args(["clear", "file"])))]
    Edit {
        /// The agent
        name: String,
        #[command(flatten)]
        fields: Box<AgentFields>,
        #[command(flatten)]
        offered: OfferedFields,
        /// Whether it takes hand-offs
        #[arg(long, value_name = "true|false")]
        available: Option<bool>,
        /// What it has no longer (repeatable, or separated by commas)
        #[arg(long, value_name = "WHAT", value_delimiter = ',')]
        clear: Vec<Clearable>,
        /// A file that has what changes as JSON; - reads it from standard input
        #[arg(long, conflicts_with_all = FIELDS, conflicts_with = "clear")]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Delete an agent that nothing needs; what it did stays
    Rm {
        /// The agent
        name: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Say what an agent offers; an agent says it of itself
    #[command(group(ArgGroup::new("change").required(true).multiple(true).args(&FIELDS[11..])))]
    Capabilities {
        /// The agent; inside a run, the agent that runs
        #[arg(env = "CHORUS_AGENT")]
        name: String,
        #[command(flatten)]
        offered: OfferedFields,
        /// Whether it takes hand-offs
        #[arg(long, value_name = "true|false")]
        available: Option<bool>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

/// How an agent is run.
#[derive(Debug, Args)]
pub(in crate::cli) struct AgentFields {
    /// What runs it: claude-code, codex, opencode, gemini, or command for any program
    #[arg(long, value_parser = provider)]
    pub provider: Option<Provider>,
    /// The program, if not the provider's own
    #[arg(long, value_name = "PATH")]
    pub program: Option<String>,
    /// What the program is started with; all arguments are given together (repeatable)
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub arguments: Vec<String>,
    /// A variable of its environment; all are given together. Not for secrets (repeatable)
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    pub environment: Vec<(String, String)>,
    /// The Markdown file that tells it what it is, below the data directory; a new agent has agents/NAME.md, a
    /// command none
    #[arg(long, value_name = "PATH")]
    pub spec: Option<String>,
    /// The tools that it may use
    #[arg(long, value_name = "TOOLS")]
    pub allowed_tools: Option<String>,
    /// How it asks for permission: default, plan, bypassPermissions, or another that its provider knows
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// The model that it uses
    #[arg(long)]
    pub model: Option<String>,
    #[arg(
        long,
        value_name = "FORM",
        help = "What of the output of a command is its final message: all, last_line or json:FIELD"
    )]
    pub output_form: Option<String>,
    /// How many seconds a run may take
    #[arg(long, value_name = "SECONDS")]
    pub max_seconds: Option<u64>,
    /// How many seconds a run may be silent
    #[arg(long, value_name = "SECONDS")]
    pub idle_seconds: Option<u64>,
}

/// What an agent offers.
#[derive(Debug, Args)]
pub(in crate::cli) struct OfferedFields {
    /// The parts that it plays, such as testing (repeatable, or separated by commas)
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub roles: Vec<Role>,
    /// What it is good at, such as python (repeatable, or separated by commas)
    #[arg(long, value_name = "SKILL", value_delimiter = ',')]
    pub skills: Vec<Skill>,
    /// How many minutes a run may take at most, whatever else is allowed
    #[arg(long, value_name = "MINUTES")]
    pub max_session_duration: Option<Minutes>,
    /// What it is there for
    #[arg(long, value_name = "TEXT")]
    pub responsibilities: Option<String>,
}

/// What an agent need not have.
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
    Roles,
    Skills,
    MaxSessionDuration,
    Responsibilities,
}

impl Clearable {
    /// Returns the key in JSON, and what it is without it.
    pub fn cleared(self) -> (&'static str, Value) {
        match self {
            Self::Spec => ("specPath", json!("")),
            Self::AllowedTools => ("allowedTools", json!("")),
            Self::Model => ("model", Value::Null),
            Self::Program => ("program", Value::Null),
            Self::Arguments => ("arguments", json!([])),
            Self::Environment => ("environment", json!({})),
            Self::MaxSeconds => ("maxSeconds", Value::Null),
            Self::IdleSeconds => ("idleSeconds", Value::Null),
            Self::Roles => ("roles", json!([])),
            Self::Skills => ("skills", json!([])),
            Self::MaxSessionDuration => ("maxSessionDuration", Value::Null),
            Self::Responsibilities => ("responsibilities", json!("")),
        }
    }
}

impl AgentFields {
    /// Puts what was given into an agent.
    pub fn set(self, agent: &mut Map<String, Value>) {
        let environment: Map<_, _> = self
            .environment
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        for (key, value) in [
            ("provider", self.provider.map(|provider| json!(provider))),
            (
                "program",
                self.program.map(|program| from_here(program).into()),
            ),
            (
                "arguments",
                (!self.arguments.is_empty()).then(|| json!(self.arguments)),
            ),
            (
                "environment",
                (!environment.is_empty()).then_some(Value::Object(environment)),
            ),
            ("specPath", self.spec.map(Value::from)),
            ("allowedTools", self.allowed_tools.map(Value::from)),
            ("permissionMode", self.permission_mode.map(Value::from)),
            ("model", self.model.map(Value::from)),
            ("outputForm", self.output_form.map(Value::from)),
            ("maxSeconds", self.max_seconds.map(Value::from)),
            ("idleSeconds", self.idle_seconds.map(Value::from)),
        ] {
            agent.extend(value.map(|value| (key.to_owned(), value)));
        }
    }
}

/// Makes the path of a program absolute, from where the user is. A name is looked for on PATH.
fn from_here(program: String) -> String {
    if !program.contains('/') {
        return program;
    }
    std::path::absolute(&program)
        .map_or(program, |absolute| absolute.to_string_lossy().into_owned())
}

impl OfferedFields {
    /// Puts what was given into an agent.
    pub fn set(self, available: Option<bool>, agent: &mut Map<String, Value>) {
        for (key, value) in [
            ("roles", (!self.roles.is_empty()).then(|| json!(self.roles))),
            (
                "skills",
                (!self.skills.is_empty()).then(|| json!(self.skills)),
            ),
            (
                "maxSessionDuration",
                self.max_session_duration.map(|minutes| json!(minutes)),
            ),
            ("responsibilities", self.responsibilities.map(Value::from)),
            ("available", available.map(Value::from)),
        ] {
            agent.extend(value.map(|value| (key.to_owned(), value)));
        }
    }
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
