//! `chorus agent`

use std::path::Path;

use reqwest::Method;
use reqwest::header::IF_NONE_MATCH;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::arguments::{AgentsCommand, Clearable, ServerArguments};
use super::server::{json_file, segment};
use super::ui::{Failure, Table, Ui, printable, usage};
use crate::client::Reply;
use crate::domain::{Agent, Provider, UsageSum};

pub(super) async fn run(ui: Ui, command: AgentsCommand) -> Result<(), Failure> {
    match command {
        AgentsCommand::List { server } => list(ui, &server).await,
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
            let client = server.client()?;
            let request = client.request(Method::PUT, &path(&name));
            let request = request.header(IF_NONE_MATCH, "*").json(&body);
            done(ui, &server, &client.send(request).await?, "made")
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
            let client = server.client()?;
            let reply = client.send_json(Method::PATCH, &path(&name), &body).await?;
            done(ui, &server, &reply, "changed")
        }
        AgentsCommand::Rm { name, server } => {
            let client = server.client()?;
            let request = client.request(Method::DELETE, &path(&name));
            done(ui, &server, &client.send(request).await?, "deleted")
        }
        AgentsCommand::Capabilities {
            name,
            offered,
            available,
            server,
        } => {
            let mut capabilities = Map::new();
            offered.set(available, &mut capabilities);
            let path = format!("{}/capabilities", path(&name));
            let client = server.client()?;
            let reply = client.send_json(Method::POST, &path, &capabilities).await?;
            done(ui, &server, &reply, "changed")
        }
    }
}

fn path(agent: &str) -> String {
    format!("/api/agents/{}", segment(agent))
}

/// Returns the JSON of an agent: of the file, if there is one.
fn whole(file: Option<&Path>, agent: &Map<String, Value>) -> Result<Box<RawValue>, Failure> {
    match file {
        Some(file) => json_file(file),
        None => serde_json::value::to_raw_value(agent).map_err(|error| Failure::caused(&error)),
    }
}

/// Finds the name of an agent in its JSON.
fn name_in(json: &RawValue) -> Result<String, Failure> {
    let agent: Value = serde_json::from_str(json.get()).map_err(|error| Failure::caused(&error))?;
    agent["name"].as_str().map(str::to_owned).ok_or_else(|| {
        Failure::new("the file says no name")
            .with_hint("write it before --file, or as \"name\" in the file")
    })
}

/// Says in one line what became of an agent.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply, what: &str) -> Result<(), Failure> {
    if server.print_json(ui, reply)? {
        return Ok(());
    }
    ui.line(format_args!("{} {what}", reply.data::<Agent>()?.name))
}

async fn list(ui: Ui, server: &ServerArguments) -> Result<(), Failure> {
    let reply = server.client()?.get("/api/agents", &[]).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
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
    for agent in reply.data::<Vec<Agent>>()? {
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
    ui.table(&table)
}

async fn show(ui: Ui, agent: &str, server: &ServerArguments) -> Result<(), Failure> {
    let reply = server.client()?.get(&path(agent), &[]).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let path = format!("{}/usage", path(agent));
    let used: UsageSum = server.client()?.get(&path, &[]).await?.data()?;
    let agent: Agent = reply.data()?;
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
