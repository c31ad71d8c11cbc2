//! `chorus agent`

use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::arguments::{AgentCommand, AgentFields, Clearable, OfferedFields, ServerArguments};
use super::input::{json_file, optional};
use super::ui::{Failure, Table, Ui, printable, usage};
use crate::api::Answer;
use crate::client::{Input, Reply};
use crate::domain::{Agent, AgentChange, Capabilities, Provider, Text};
use crate::words::counted;

pub(super) async fn run(ui: Ui, command: AgentCommand) -> Result<(), Failure> {
    match command {
        AgentCommand::List { server } => {
            let reply = server.read_as_operator(async |client| client.agents().list().await);
            server.show_list(ui, &reply.await?, table)
        }
        AgentCommand::Import(arguments) => super::agent_import::run(ui, arguments).await,
        AgentCommand::Show { agent, server } => show(ui, &agent, &server).await,
        AgentCommand::Create {
            name,
            fields,
            offered,
            unavailable,
            file,
            server,
        } => {
            let (name, agent) = if let Some(file) = file {
                let json = json_file(&file)?;
                let name = name.map_or_else(|| name_in(&json), Ok)?;
                (name, Input::Json(json))
            } else {
                let offered = capabilities(offered, unavailable.then_some(false), &[]);
                let mut agent = change(*fields, offered, &[])?;
                agent.provider = agent
                    .provider
                    .or_else(|| provider_of(agent.program.as_ref()));
                (name.unwrap_or_default(), Input::Typed(agent))
            };
            let reply = server.client()?.agents().create(&name, &agent).await?;
            done(ui, &server, &reply, "created")
        }
        AgentCommand::Edit {
            name,
            fields,
            offered,
            available,
            clear,
            file,
            server,
        } => {
            let change = if let Some(file) = file {
                Input::Json(json_file(&file)?)
            } else {
                let offered = capabilities(offered, available, &clear);
                Input::Typed(change(*fields, offered, &clear)?)
            };
            let reply = server.client()?.agents().edit(&name, &change).await?;
            done(ui, &server, &reply, "changed")
        }
        AgentCommand::Rm { name, server } => {
            let reply = server.client()?.agents().delete(&name).await?;
            done(ui, &server, &reply, "deleted")
        }
        AgentCommand::Capabilities {
            name,
            offered,
            available,
            server,
        } => {
            let offered = capabilities(offered, available, &[]);
            let client = server.client()?;
            let reply = client.agents().announce(&name, &offered).await?;
            done(ui, &server, &reply, "changed")
        }
    }
}

/// Returns the change of an agent. An option that is given wins over `--clear`.
fn change(
    fields: AgentFields,
    offered: Capabilities,
    clear: &[Clearable],
) -> Result<AgentChange, Failure> {
    let clears = |what| clear.contains(&what);
    let environment = fields.environment.into_iter();
    let environment: Vec<_> = environment
        .map(|(name, value)| (Text::lossy(name), Text::lossy(value)))
        .collect();
    let arguments = fields.arguments.into_iter().map(Text::lossy).collect();
    let program = fields.program.map(from_here);
    Ok(AgentChange {
        spec_path: text(fields.spec, clears(Clearable::Spec)),
        allowed_tools: text(fields.allowed_tools, clears(Clearable::AllowedTools)),
        permission_mode: fields.permission_mode.map(Text::lossy),
        provider: fields.provider,
        model: or_none(fields.model.map(Text::lossy), clears(Clearable::Model)),
        program: or_none(program, clears(Clearable::Program)),
        arguments: list(arguments, clears(Clearable::Arguments)),
        environment: list(environment, clears(Clearable::Environment))
            .map(|variables| variables.into_iter().collect()),
        output_form: optional("outputForm", fields.output_form)?,
        max_seconds: or_none(fields.max_seconds, clears(Clearable::MaxSeconds)),
        idle_seconds: or_none(fields.idle_seconds, clears(Clearable::IdleSeconds)),
        isolation: or_none(fields.isolation, clears(Clearable::Isolation)),
        ..AgentChange::from(offered)
    })
}

/// Returns the provider of a program by its file name; any other program is a `command`.
fn provider_of(program: Option<&Option<Text>>) -> Option<Provider> {
    let program = program?.as_ref()?;
    let name = Path::new(program.as_str()).file_name()?.to_str()?;
    let known = Provider::ALL
        .into_iter()
        .find(|provider| provider.binary() == Some(name));
    Some(known.unwrap_or(Provider::Command))
}

fn capabilities(
    fields: OfferedFields,
    available: Option<bool>,
    clear: &[Clearable],
) -> Capabilities {
    let clears = |what| clear.contains(&what);
    let duration = fields.max_session_duration;
    Capabilities {
        roles: list(fields.roles, clears(Clearable::Roles)),
        skills: list(fields.skills, clears(Clearable::Skills)),
        max_session_duration: or_none(duration, clears(Clearable::MaxSessionDuration)),
        responsibilities: text(fields.responsibilities, clears(Clearable::Responsibilities)),
        available,
    }
}

fn text(given: Option<String>, is_cleared: bool) -> Option<Text> {
    let given = given.map(Text::lossy);
    given.or_else(|| is_cleared.then(Text::default))
}

#[expect(
    clippy::option_option,
    reason = "a change tells an absent field from null"
)]
fn or_none<T>(given: Option<T>, is_cleared: bool) -> Option<Option<T>> {
    (given.is_some() || is_cleared).then_some(given)
}

fn list<T>(given: Vec<T>, is_cleared: bool) -> Option<Vec<T>> {
    (!given.is_empty() || is_cleared).then_some(given)
}

/// Makes the path of a program absolute. A bare name stays, because the server looks it up on PATH.
fn from_here(program: String) -> Text {
    let absolute = program.contains('/').then(|| std::path::absolute(&program));
    Text::lossy(match absolute {
        Some(Ok(absolute)) => absolute.to_string_lossy().into_owned(),
        _ => program,
    })
}

/// Finds the name of an agent in its JSON.
fn name_in(json: &RawValue) -> Result<String, Failure> {
    let agent: Value = serde_json::from_str(json.get()).map_err(|error| Failure::caused(&error))?;
    agent["name"].as_str().map(str::to_owned).ok_or_else(|| {
        Failure::new("the file has no name")
            .with_hint("write the name before --file, or as \"name\" in the file")
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
    let mut table = Table::new(
        "No agents found; create one with `chorus agent create`",
        &headings,
    );
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
    let reply = server.read_as_operator(async |client| client.agents().get(agent).await);
    let reply = reply.await?;
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
        ("max time", seconds(agent.max_seconds)),
        ("max silence", seconds(agent.idle_seconds)),
        (
            "isolation",
            agent
                .isolation
                .map(|isolation| isolation.as_str().to_owned()),
        ),
        ("roles", Some(words(&agent.roles))),
        ("skills", Some(words(&agent.skills))),
        (
            "max session",
            agent
                .max_session_duration
                .map(|minutes| counted(u64::from(minutes.get()), "minute")),
        ),
        ("used", usage(&used)),
    ] {
        let said = said.filter(|said| !said.is_empty());
        lines.extend(said.map(|said| format!("{what:<12} {said}")));
    }
    let variables = agent.environment.0.iter();
    lines.extend(variables.map(|(name, value)| match value {
        Some(value) => format!("{:<12} {name}={value}", "environment"),
        None => format!("{:<12} {name} (value hidden or unset)", "environment"),
    }));
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
