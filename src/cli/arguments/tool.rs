//! Arguments of `chorus tool`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::{ServerArguments, TaskArgument};
use crate::domain::{ContextVariable, VariableType};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ToolCommand {
    /// Create a hand-off tool
    Create {
        /// Name: lower-case letters, digits and _
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// Agent that gets control
        #[arg(long, value_name = "AGENT", required_unless_present = "file")]
        target: Option<String>,
        /// When agents should use the tool
        #[arg(long, value_name = "TEXT", required_unless_present = "file")]
        description: Option<String>,
        #[command(flatten)]
        fields: ToolFields,
        /// JSON file with the whole tool; - reads standard input
        #[arg(long, conflicts_with_all = ["name", "target", "description", "variables", "instructions", "allow"])]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// List hand-off tools
    List {
        /// Only tools that this agent may use
        #[arg(long = "as", alias = "for-agent", value_name = "AGENT")]
        for_agent: Option<String>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show a hand-off tool
    Show {
        /// Tool to show
        #[arg(value_name = "TOOL")]
        name: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Change fields of a hand-off tool
    ///
    /// Options that are not given leave their fields as they are. A repeatable option replaces the whole list.
    #[command(group(
        ArgGroup::new("change").required(true).multiple(true).args([
            "target", "description", "variables", "no_variables", "instructions", "allow", "allow_all", "file",
        ])
    ))]
    Edit {
        /// Tool to change
        #[arg(value_name = "TOOL")]
        name: String,
        /// Agent that gets control
        #[arg(long, value_name = "AGENT")]
        target: Option<String>,
        /// When agents should use the tool
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        #[command(flatten)]
        fields: ToolFields,
        /// Remove all variables
        #[arg(long, conflicts_with = "variables")]
        no_variables: bool,
        /// Allow every agent except the target
        #[arg(long, conflicts_with = "allow")]
        allow_all: bool,
        /// JSON file with the whole tool; - reads standard input
        #[arg(
            long,
            conflicts_with_all = ["target", "description", "variables", "no_variables", "instructions", "allow", "allow_all"]
        )]
        file: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Delete a hand-off tool; its hand-offs stay
    Rm {
        /// Tool to delete
        #[arg(value_name = "TOOL")]
        name: String,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Transfer a task with a tool and print the id of the child task
    Call {
        /// Task to transfer [default in a run: its own]
        task: TaskArgument,
        /// Tool to call
        #[arg(value_parser = tool_name)]
        tool: String,
        /// Variables as a JSON object; - reads standard input
        #[arg(default_value = "{}")]
        arguments: String,
        /// Variable, JSON unless its type is string (repeatable)
        #[arg(long = "var", value_name = "NAME=VALUE", value_parser = named_value)]
        variables: Vec<(String, String)>,
        /// Wait for the chain to end and print its last message
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
}

/// The optional fields of a tool.
#[derive(Debug, Args)]
pub(in crate::cli) struct ToolFields {
    /// Variable to pass on, ! if required (repeatable)
    ///
    /// TYPE is string, number, boolean, object or array. Example: `lead_id:string!=The lead`.
    #[arg(long = "variable", value_name = "NAME:TYPE[!]=DESCRIPTION", value_parser = variable)]
    pub variables: Vec<ContextVariable>,
    /// Instructions for the target agent
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Agent that may use the tool (repeatable) [default: all but the target]
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

/// Reads the name of a tool. Variables in its place mean that the task was left out.
fn tool_name(text: &str) -> Result<String, &'static str> {
    if text == "-" || text.trim_start().starts_with('{') {
        return Err("is not the name of a tool");
    }
    Ok(text.to_owned())
}

/// Reads `NAME=VALUE`.
fn named_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as lead_id=123".to_owned()),
    }
}
