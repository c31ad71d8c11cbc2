//! `chorus agent`

use std::path::Path;

use serde_json::{Map, Value};

use super::arguments::{AgentsCommand, Clearable, ServerArguments};
use super::input::json_file;
use super::ui::{Failure, Table, Ui, printable, usage};
use crate::api::Answer;
use crate::client::{Input, Reply};
use crate::domain::{Agent, AgentChange, Provider};

pub(super) async fn run(ui: Ui, command: AgentsCommand) -> Result<(), Failure> {
    match command {
        AgentsCommand::List { server } => {
            server.show_list(ui, &server.client()?.agents().list().await?, table)
        }
        AgentsCommand::Show { agent, server } => show(ui, &agent, &server).await,
        AgentsCommand::Add {
            name,
            fields,
            offered,
            unavailable,
            file,
            server,
        } => {
            let mut agent = Map::new();
            fields.set(&mut agent);
            offered.set(unavailable.then_some(false), &mut agent);
            let body = whole(file.as_deref(), &agent)?;
            let name = match name {
                Some(name) => name,
                None => name_in(&body)?,
            };
            let reply = server.client()?.agents().create(&name, &body).await?;
            done(ui, &server, &reply, "made")
        }
        AgentsCommand::Edit {
            name,
            fields,
            offered,
            available,
            clear,
            file,
            server,
        } => {
            let mut change: Map<String, Value> = clear
                .into_iter()
                .map(Clearable::cleared)
                .map(|(key, value)| (key.to_owned(), value))
                .collect();
            fields.set(&mut change);
            offered.set(available, &mut change);
            let body = whole(file.as_deref(), &change)?;
            let reply = server.client()?.agents().edit(&name, &body).await?;
            done(ui, &server, &reply, "changed")
        }
        AgentsCommand::Rm { name, server } => {
            let reply = server.client()?.agents().delete(&name).await?;
            done(ui, &server, &reply, "deleted")
        }
        AgentsCommand::Capabilities {
            name,
            offered,
            available,
            server,
        } => {
            let mut capabilities = Map::new();
            offered.set(available, &mut capabilities);
            let capabilities = serde_json::from_value(Value::Object(capabilities))
                .map_err(|error| Failure::caused(&error))?;
            let client = server.client()?;
            let reply = client.agents().announce(&name, &capabilities).await?;
            done(ui, &server, &reply, "changed")
        }
    }
}

/// Returns the JSON of an agent: of the file, if there is one.
fn whole(file: Option<&Path>, agent: &Map<String, Value>) -> Result<Input<AgentChange>, Failure> {
    let json = match file {
        Some(file) => json_file(file),
        None => serde_json::value::to_raw_value(agent).map_err(|error| Failure::caused(&error)),
    };
    Ok(Input::Json(json?))
}

/// Finds the name of an agent in its JSON.
fn name_in(input: &Input<AgentChange>) -> Result<String, Failure> {
    let name = match input {
        Input::Typed(agent) => agent.name.as_ref().map(ToString::to_string),
        Input::Json(json) => {
            let agent: Value =
                serde_json::from_str(json.get()).map_err(|error| Failure::caused(&error))?;
            agent["name"].as_str().map(str::to_owned)
        }
    };
    name.ok_or_else(|| {
        Failure::new("the file says no name")
            .with_hint("write it before --file, or as \"name\" in the file")
    })
}

/// Prints the name of an agent and what happened to it.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply<Agent>, what: &str) -> Result<(), Failure> {
    server.show(ui, reply, |agent| {
        ui.line(format_args!("{} {what}", agent.name))
    })
}

fn table(answer: &Answer<Vec<Agent>>) -> Table {
    let headings = [
        "name",
        "provider",
        "available",
        "roles",
        "skills",
        "permissions",
        "tools",
    ];
    let mut table = Table::new(&headings);
    for agent in &answer.data {
        table.row([
            agent.name.as_str(),
            agent.provider.as_str(),
            yes_or_no(agent.available),
            &words(&agent.roles),
            &words(&agent.skills),
            agent.permission_mode.as_str(),
            agent.allowed_tools.as_str(),
        ]);
    }
    table
}

async fn show(ui: Ui, agent: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let reply = client.agents().get(agent).await?;
    if server.json {
        return ui.text(&reply.text);
    }
    let used = client.agents().usage(agent).await?.data()?;
    let agent = reply.data()?;
    let arguments: Vec<_> = agent
        .arguments
        .iter()
        .map(|argument| format!("{:?}", argument.as_str()))
        .collect();
    let seconds = |seconds: Option<u64>| seconds.map(|seconds| format!("{seconds} s"));
    let form = String::from(agent.output_form.clone());
    let mut lines = Vec::new();
    for (what, said) in [
        ("agent", Some(agent.name.to_string())),
        ("provider", Some(agent.provider.as_str().to_owned())),
        ("available", Some(yes_or_no(agent.available).to_owned())),
        ("spec", Some(agent.spec_path.to_string())),
        ("permissions", Some(agent.permission_mode.to_string())),
        ("tools", Some(agent.allowed_tools.to_string())),
        ("model", agent.model.as_ref().map(ToString::to_string)),
        ("program", agent.program.as_ref().map(ToString::to_string)),
        ("arguments", Some(arguments.join(" "))),
        (
            "output",
            (agent.provider == Provider::Command).then_some(form),
        ),
        ("at most", seconds(agent.max_seconds)),
        ("silent", seconds(agent.idle_seconds)),
        ("roles", Some(words(&agent.roles))),
        ("skills", Some(words(&agent.skills))),
        (
            "session",
            agent
                .max_session_duration
                .map(|minutes| format!("{minutes} minutes at most")),
        ),
        ("used", usage(&used)),
    ] {
        let said = said.filter(|said| !said.is_empty());
        lines.extend(said.map(|said| format!("{what:<12} {said}")));
    }
    let variables = agent.environment.iter();
    lines.extend(variables.map(|(name, value)| format!("{:<12} {name}={value}", "environment")));
    if !agent.responsibilities.is_blank() {
        lines.push(format!("\n{}", agent.responsibilities));
    }
    ui.line(printable(&lines.join("\n")))
}

const fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn words(words: &[impl ToString]) -> String {
    let words: Vec<_> = words.iter().map(ToString::to_string).collect();
    words.join(" ")
}
