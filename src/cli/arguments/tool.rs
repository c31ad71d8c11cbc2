//! What can be typed after `chorus tool`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::ServerArguments;
use crate::domain::{ContextVariable, VariableType};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ToolCommand {
    /// Make a hand-off tool
    Create {
        /// Its name: small letters, digits and _
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// The agent that goes on
        #[arg(long, value_name = "AGENT", required_unless_present = "file")]
        target: Option<String>,
        /// When to use it
        #[arg(long, value_name = "TEXT", required_unless_present = "file")]
        description: Option<String>,
        #[command(flatten)]
        fields: ToolFields,
        /// A file that has the whole tool as JSON; - reads it from standard input
        #[arg(long, conflicts_with_all = ["name", "target", "description", "variables", "instructions", "allow"])]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List the hand-off tools
    List {
        /// Only those that this agent may use
        #[arg(long, value_name = "AGENT")]
        for_agent: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a hand-off tool
    Show {
        /// The tool
        name: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Change a hand-off tool; what is not given stays as it is
    #[command(group(
        ArgGroup::new("change").required(true).multiple(true).args([
            "target", "description", "variables", "no_variables", "instructions", "allow", "allow_all", "file",
        ])
    ))]
    Edit {
        /// The tool
        name: String,
        /// The agent that goes on
        #[arg(long, value_name = "AGENT")]
        target: Option<String>,
        /// When to use it
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        #[command(flatten)]
        fields: ToolFields,
        /// Pass no variables any more
        #[arg(long, conflicts_with = "variables")]
        no_variables: bool,
        /// Let every agent but the target use it
        #[arg(long, conflicts_with = "allow")]
        allow_all: bool,
        /// A file that has the whole tool as JSON; - reads it from standard input
        #[arg(
            long,
            conflicts_with_all = ["target", "description", "variables", "no_variables", "instructions", "allow", "allow_all"]
        )]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Delete a hand-off tool; what it did stays
    Rm {
        /// The tool
        name: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Pass control of a task by a tool, and print the id of the child task that goes on
    Call {
        /// The task
        task: String,
        /// The tool
        tool: String,
        /// The variables as a JSON object; - reads it from standard input
        #[arg(default_value = "{}")]
        arguments: String,
        /// A variable: text as it is, or JSON if the tool wants another type (repeatable)
        #[arg(long = "var", value_name = "NAME=VALUE", value_parser = named_value)]
        variables: Vec<(String, String)>,
        /// Wait for the end of all that follows, and print the last final message
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
}

/// What a tool may have beside a target and a description.
#[derive(Debug, Args)]
pub(in crate::cli) struct ToolFields {
    /// What is passed on; ! says that it must be given. TYPE is string, number, boolean, object or array. All
    /// variables are given together (repeatable)
    #[arg(long = "variable", value_name = "NAME:TYPE[!]=DESCRIPTION", value_parser = variable)]
    pub variables: Vec<ContextVariable>,
    /// What the target is told
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// An agent that may use it; if none is named, all but the target may (repeatable)
    #[arg(long, value_name = "AGENT")]
    pub allow: Vec<String>,
}

/// Reads `NAME:TYPE[!]=DESCRIPTION`.
fn variable(text: &str) -> Result<ContextVariable, String> {
    let (head, description) = text.split_once('=').unwrap_or((text, ""));
    let (name, word) = head
        .split_once(':')
        .ok_or("write NAME:TYPE, such as lead_id:string!=The lead")?;
    let required = word.ends_with('!');
    let word = word.strip_suffix('!').unwrap_or(word);
    let variable_type = VariableType::parse(word)
        .ok_or_else(|| format!("{word:?} is not string, number, boolean, object or array"))?;
    let text = |text: &str| text.parse().map_err(|error| format!("{error}"));
    Ok(ContextVariable {
        name: text(name)?,
        variable_type,
        required,
        description: text(description)?,
    })
}

/// Reads `NAME=VALUE`.
fn named_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as lead_id=123".to_owned()),
    }
}
