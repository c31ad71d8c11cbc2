//! `chorus tool`

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::arguments::{ServerArguments, ToolCommand, ToolFields};
use super::input::{field, json_file, text_or_stdin};
use super::progress::{Followed, Progress};
use super::ui::{Failure, Table, Ui, one_line, printable};
use super::wait::{follow, handed, patient, print_end, started};
use crate::api::Answer;
use crate::client::{Client, Input, Reply};
use crate::domain::{AgentName, ContextVariable, FunctionDefinition, Text, Tool, VariableType};

pub(super) async fn run(ui: Ui, command: ToolCommand) -> Result<(), Failure> {
    match command {
        ToolCommand::Create {
            name,
            target,
            description,
            fields,
            file,
            server,
        } => {
            let tool = if let Some(file) = file {
                Input::Json(json_file(&file)?)
            } else {
                let tool = Tool {
                    name: field("name", name.unwrap_or_default())?,
                    description: Text::default(),
                    target_agent: field("targetAgent", target.unwrap_or_default())?,
                    context_variables: Vec::new(),
                    handoff_instructions: Text::default(),
                    allowed_agents: None,
                };
                Input::Typed(edited(tool, None, description, fields)?)
            };
            let reply = server.client()?.tools().create(&tool).await?;
            done(ui, &server, &reply, "created")
        }
        ToolCommand::List { for_agent, server } => {
            let client = server.client()?;
            match for_agent {
                None => server.show_list(ui, &client.tools().list().await?, table),
                Some(agent) => {
                    let reply = client.agents().tools(&agent).await?;
                    server.show_list(ui, &reply, definitions)
                }
            }
        }
        ToolCommand::Show { name, server } => {
            let reply = server.client()?.tools().get(&name).await?;
            server.show(ui, &reply, |tool| show(ui, &tool))
        }
        ToolCommand::Edit {
            name,
            target,
            description,
            fields,
            no_variables,
            allow_all,
            file,
            server,
        } => {
            let client = server.client()?;
            let tool = if let Some(file) = file {
                Input::Json(json_file(&file)?)
            } else {
                let tool = client.tools().get(&name).await?.data()?;
                let mut tool = edited(tool, target, description, fields)?;
                if no_variables {
                    tool.context_variables.clear();
                }
                if allow_all {
                    tool.allowed_agents = None;
                }
                Input::Typed(tool)
            };
            let reply = client.tools().replace(&name, &tool).await?;
            done(ui, &server, &reply, "changed")
        }
        ToolCommand::Rm { name, server } => {
            let reply = server.client()?.tools().delete(&name).await?;
            done(ui, &server, &reply, "deleted")
        }
        ToolCommand::Call {
            task,
            tool,
            arguments,
            variables,
            wait,
            server,
        } => {
            let client = server.client()?;
            let arguments = read_arguments(arguments)?;
            let arguments = with_variables(&client, &tool, arguments, variables).await?;
            call(ui, &client, &task, &tool, &arguments, wait, &server).await
        }
    }
}

/// Sets the fields of a tool that were given.
fn edited(
    mut tool: Tool,
    target: Option<String>,
    description: Option<String>,
    fields: ToolFields,
) -> Result<Tool, Failure> {
    if let Some(target) = target {
        tool.target_agent = field("targetAgent", target)?;
    }
    if let Some(description) = description {
        tool.description = Text::lossy(description);
    }
    if let Some(instructions) = fields.instructions {
        tool.handoff_instructions = Text::lossy(instructions);
    }
    if !fields.variables.is_empty() {
        tool.context_variables = fields.variables;
    }
    if !fields.allow.is_empty() {
        let agents = fields.allow.into_iter();
        let agents = agents.map(|agent| field("allowedAgents", agent));
        tool.allowed_agents = Some(agents.collect::<Result<_, Failure>>()?);
    }
    Ok(tool)
}

/// Prints the name of a tool and what happened to it.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply<Tool>, what: &str) -> Result<(), Failure> {
    server.show(ui, reply, |tool| {
        ui.line(format_args!("{} {what}", tool.name))
    })
}

fn table(answer: &Answer<Vec<Tool>>) -> Table {
    let mut table = Table::new(
        "No tools found; create one with `chorus tool create`",
        &["name", "target", "variables", "allowed", "description"],
    );
    for tool in &answer.data {
        let variables: Vec<_> = tool.context_variables.iter().map(typed).collect();
        table.row([
            tool.name.as_str(),
            tool.target_agent.as_str(),
            &variables.join(" "),
            &allowed(tool),
            tool.description.as_str(),
        ]);
    }
    table
}

fn definitions(answer: &Answer<Vec<FunctionDefinition>>) -> Table {
    let mut table = Table::new(
        "No tools are allowed for this agent",
        &["name", "description"],
    );
    for FunctionDefinition { function, .. } in &answer.data {
        table.row([function.name.as_str(), function.description.as_str()]);
    }
    table
}

fn show(ui: Ui, tool: &Tool) -> Result<(), Failure> {
    let mut lines = vec![
        format!("tool     {}", tool.name),
        format!("target   {}", tool.target_agent),
        format!("allowed  {}", allowed(tool)),
        format!("\n{}", tool.description),
    ];
    if !tool.context_variables.is_empty() {
        lines.push("\nVariables".to_owned());
    }
    for variable in &tool.context_variables {
        let line = format!(
            "  {}  {}",
            typed(variable),
            one_line(variable.description.as_str())
        );
        lines.push(line.trim_end().to_owned());
    }
    if !tool.handoff_instructions.is_blank() {
        lines.push(format!("\nInstructions\n{}", tool.handoff_instructions));
    }
    ui.line(printable(&lines.join("\n")))
}

/// Formats a variable as the option `--variable` takes it.
fn typed(variable: &ContextVariable) -> String {
    let mark = if variable.required { "!" } else { "" };
    let kind = variable.variable_type.as_str();
    format!("{}:{kind}{mark}", variable.name)
}

fn allowed(tool: &Tool) -> String {
    match &tool.allowed_agents {
        None => "all but the target".to_owned(),
        Some(agents) => agents
            .iter()
            .map(AgentName::as_str)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn read_arguments(arguments: String) -> Result<Map<String, Value>, Failure> {
    let text = text_or_stdin(arguments)?;
    serde_json::from_str(text.as_str()).map_err(|error| {
        Failure::new(format!("the variables are not a JSON object: {error}")).with_hint(
            r#"write them as '{"lead_id": "123"}', or one by one with --var lead_id=123"#,
        )
    })
}

/// Adds the variables of `--var`, each converted to its declared type.
async fn with_variables(
    client: &Client,
    tool: &str,
    mut arguments: Map<String, Value>,
    variables: Vec<(String, String)>,
) -> Result<Map<String, Value>, Failure> {
    if variables.is_empty() {
        return Ok(arguments);
    }
    let tool = patient(client, None).tools().get(tool).await?.data()?;
    let mut given = HashSet::new();
    for (name, text) in variables {
        if !given.insert(name.clone()) {
            return Err(Failure::new(format!("the variable {name} is given twice")));
        }
        let known = tool
            .context_variables
            .iter()
            .find(|variable| variable.name.as_str() == name);
        let value = value(known.map(|variable| variable.variable_type), text);
        arguments.insert(name, value);
    }
    Ok(arguments)
}

/// Converts a value to its declared type. A value that does not fit stays text, which the server refuses.
fn value(wanted: Option<VariableType>, text: String) -> Value {
    let is_text = matches!(wanted, None | Some(VariableType::String));
    let json = (!is_text)
        .then(|| serde_json::from_str::<Value>(&text).ok())
        .flatten();
    json.filter(|value| VariableType::of(value) == wanted)
        .unwrap_or(Value::String(text))
}

async fn call(
    ui: Ui,
    client: &Client,
    task: &str,
    tool: &str,
    arguments: &Map<String, Value>,
    wait: bool,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let progress = if wait {
        Progress::begin(ui, client).await
    } else {
        Progress::none(ui)
    };
    let patient = patient(client, None);
    let reply = patient.tasks().call_tool(task, tool, arguments).await?;
    let (child, entry) = started(&reply)?;
    if !wait {
        return server.show(ui, &reply, |child| ui.line(&child.id));
    }
    ui.notice(handed(&child.id, entry.agent_name.as_str(), &entry.id));
    let followed = Followed {
        task: child.id,
        handoff: entry.id,
    };
    let reply = follow(ui, client, progress, followed, None).await?;
    print_end(ui, server, &reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_type_that_the_tool_wants_or_is_text() {
        use VariableType::{Array, Boolean, Number, Object};
        for (wanted, text, json) in [
            (Some(VariableType::String), "7", r#""7""#),
            (Some(VariableType::String), r#""7""#, r#""\"7\"""#),
            (Some(Number), "7", "7"),
            (Some(Number), "-1.5e3", "-1500.0"),
            (Some(Number), "seven", r#""seven""#),
            (Some(Number), "true", r#""true""#),
            (Some(Boolean), "true", "true"),
            (Some(Boolean), "yes", r#""yes""#),
            (Some(Boolean), "null", r#""null""#),
            (Some(Array), r#"[1, "a"]"#, r#"[1,"a"]"#),
            (Some(Array), "a,b", r#""a,b""#),
            (Some(Object), r#"{"a": {}}"#, r#"{"a":{}}"#),
            (Some(Object), "", r#""""#),
            (None, "7", r#""7""#),
        ] {
            let value = value(wanted, text.to_owned());
            assert_eq!(value.to_string(), json, "{wanted:?} {text}");
        }
    }
}
