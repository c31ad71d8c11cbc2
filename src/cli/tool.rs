//! `chorus tool`

use std::collections::HashSet;
use std::path::Path;

use reqwest::Method;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::arguments::{ServerArguments, ToolCommand, ToolFields};
use super::progress::Progress;
use super::server::{json_file, segment, text_or_stdin};
use super::ui::{Failure, Table, Ui, one_line, printable};
use super::wait::{follow, get_patiently, post_once, print_end, started};
use crate::client::{Client, Reply};
use crate::domain::{AgentName, ContextVariable, FunctionDefinition, Tool, VariableType};

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
            let mut tool = Map::new();
            tool.extend(name.map(|name| ("name".to_owned(), name.into())));
            set(&mut tool, target, description, fields);
            let body = whole(file.as_deref(), &tool)?;
            let reply = server
                .client()?
                .send_json(Method::POST, "/api/tools", &body)
                .await?;
            done(ui, &server, &reply, "made")
        }
        ToolCommand::List { for_agent, server } => match for_agent {
            None => list(ui, &server).await,
            Some(agent) => list_for(ui, &agent, &server).await,
        },
        ToolCommand::Show { name, server } => {
            let reply = server.client()?.get(&path(&name), &[]).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            show(ui, &reply.data()?)
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
            let mut tool: Map<String, Value> = client.get(&path(&name), &[]).await?.data()?;
            set(&mut tool, target, description, fields);
            if no_variables {
                tool.insert("contextVariables".to_owned(), json!([]));
            }
            if allow_all {
                tool.insert("allowedAgents".to_owned(), Value::Null);
            }
            let body = whole(file.as_deref(), &tool)?;
            let reply = client.send_json(Method::PUT, &path(&name), &body).await?;
            done(ui, &server, &reply, "changed")
        }
        ToolCommand::Rm { name, server } => {
            let client = server.client()?;
            let request = client.request(Method::DELETE, &path(&name));
            let reply = client.send(request).await?;
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

fn path(tool: &str) -> String {
    format!("/api/tools/{}", segment(tool))
}

/// Puts what was given into a tool.
fn set(
    tool: &mut Map<String, Value>,
    target: Option<String>,
    description: Option<String>,
    fields: ToolFields,
) {
    let ToolFields {
        variables,
        instructions,
        allow,
    } = fields;
    let variables = (!variables.is_empty()).then(|| json!(variables));
    let allow = (!allow.is_empty()).then(|| json!(allow));
    for (key, value) in [
        ("description", description.map(Value::from)),
        ("targetAgent", target.map(Value::from)),
        ("contextVariables", variables),
        ("handoffInstructions", instructions.map(Value::from)),
        ("allowedAgents", allow),
    ] {
        tool.extend(value.map(|value| (key.to_owned(), value)));
    }
}

/// Returns the JSON of a whole tool: of the file, if there is one.
fn whole(file: Option<&Path>, tool: &Map<String, Value>) -> Result<Box<RawValue>, Failure> {
    match file {
        Some(file) => json_file(file),
        None => serde_json::value::to_raw_value(tool).map_err(|error| Failure::caused(&error)),
    }
}

/// Says in one line what became of a tool.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply, what: &str) -> Result<(), Failure> {
    if server.print_json(ui, reply)? {
        return Ok(());
    }
    ui.line(format_args!("{} {what}", reply.data::<Tool>()?.name))
}

async fn list(ui: Ui, server: &ServerArguments) -> Result<(), Failure> {
    let reply = server.client()?.get("/api/tools", &[]).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let mut table = Table::new(&["name", "target", "variables", "allowed", "description"]);
    for tool in reply.data::<Vec<Tool>>()? {
        let variables: Vec<_> = tool.context_variables.iter().map(typed).collect();
        table.row([
            tool.name.as_str(),
            tool.target_agent.as_str(),
            &variables.join(" "),
            &allowed(&tool),
            tool.description.as_str(),
        ]);
    }
    ui.table(&table)
}

async fn list_for(ui: Ui, agent: &str, server: &ServerArguments) -> Result<(), Failure> {
    let path = format!("/api/agents/{}/tools", segment(agent));
    let reply = server.client()?.get(&path, &[]).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let mut table = Table::new(&["name", "description"]);
    for FunctionDefinition { function, .. } in reply.data::<Vec<FunctionDefinition>>()? {
        table.row([function.name.as_str(), function.description.as_str()]);
    }
    ui.table(&table)
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

/// Writes a variable as it can be typed: name, type, and whether it must be given.
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
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("the variables are not a JSON object: {error}")).with_hint(
            r#"write them as '{"lead_id": "123"}', or one by one with --var lead_id=123"#,
        )
    })
}

/// Adds variables that were given one by one, each as the type that the tool wants.
async fn with_variables(
    client: &Client,
    tool: &str,
    mut arguments: Map<String, Value>,
    variables: Vec<(String, String)>,
) -> Result<Map<String, Value>, Failure> {
    if variables.is_empty() {
        return Ok(arguments);
    }
    let tool: Tool = get_patiently(client, &path(tool), &[], None)
        .await?
        .data()?;
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

/// Reads a value as JSON of a type; what is not that is text, and the server says what is wrong with it.
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
    let path = format!("/api/tasks/{}/tools/{}", segment(task), segment(tool));
    let progress = if wait {
        Progress::begin(ui, client).await
    } else {
        Progress::none(ui)
    };
    let reply = post_once(client, &path, arguments).await?;
    let (child, entry) = started(&reply)?;
    if !wait {
        return if server.print_json(ui, &reply)? {
            Ok(())
        } else {
            ui.line(&child.id)
        };
    }
    ui.notice(format_args!(
        "{} works on {} (hand-off {})",
        entry.agent_name, child.id, entry.id
    ));
    let reply = follow(ui, client, progress, entry.id, None).await?;
    print_end(ui, server, client, &reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_type_that_the_tool_wants_or_is_text() {
        use VariableType::{Array, Boolean, Number, Object};
        for (wanted, text, read) in [
            (Some(VariableType::String), "7", json!("7")),
            (Some(VariableType::String), "\"7\"", json!("\"7\"")),
            (Some(Number), "7", json!(7)),
            (Some(Number), "-1.5e3", json!(-1500.0)),
            (Some(Number), "seven", json!("seven")),
            (Some(Number), "true", json!("true")),
            (Some(Boolean), "true", json!(true)),
            (Some(Boolean), "yes", json!("yes")),
            (Some(Boolean), "null", json!("null")),
            (Some(Array), "[1, \"a\"]", json!([1, "a"])),
            (Some(Array), "a,b", json!("a,b")),
            (Some(Object), "{\"a\": {}}", json!({ "a": {} })),
            (Some(Object), "", json!("")),
            (None, "7", json!("7")),
        ] {
            assert_eq!(value(wanted, text.to_owned()), read, "{wanted:?} {text}");
        }
    }
}
