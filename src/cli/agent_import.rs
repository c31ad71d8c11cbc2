//! `chorus agent import`

use std::io::Read;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::arguments::ImportAgentsArguments;
use super::roles_file::{self, Described};
use super::ui::{Failure, Table, Ui};
use crate::client::Input;
use crate::domain::{Agent, AgentChange, Provider, match_agent_name};

/// The effect of an import on one agent.
struct Planned {
    name: String,
    change: AgentChange,
    /// The fields that change; `None` for a new agent.
    changed: Option<Vec<String>>,
}

impl Planned {
    fn word(&self) -> &'static str {
        match &self.changed {
            None => "created",
            Some(fields) if fields.is_empty() => "unchanged",
            Some(_) => "changed",
        }
    }
}

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    data: Vec<Imported>,
    dry_run: bool,
}

#[derive(Serialize)]
struct Imported {
    name: String,
    result: &'static str,
    fields: Vec<String>,
}

/// Creates and changes the agents that files describe. Everything is checked first that can be checked without the server.
pub(super) async fn run(ui: Ui, arguments: ImportAgentsArguments) -> Result<(), Failure> {
    let ImportAgentsArguments {
        files,
        provider,
        dry_run,
        server,
    } = arguments;
    let mut described: Vec<Described> = Vec::new();
    for file in &files {
        for agent in roles_file::read(&text(file)?, &file.display().to_string())? {
            let is_it = |other: &&Described| other.name.eq_ignore_ascii_case(&agent.name);
            if let Some(other) = described.iter().find(is_it) {
                return Err(Failure::usage(format!(
                    "{}: the files describe {} twice",
                    file.display(),
                    other.name
                )));
            }
            described.push(agent);
        }
    }
    let client = server.client()?;
    let known = server.read_as_operator(async |client| client.agents().list().await);
    let known = known.await?.data()?;
    let mut planned = Vec::new();
    for agent in described {
        planned.push(plan(agent, provider, &known)?);
    }
    let nameless: Vec<_> = planned
        .iter()
        .filter(|each| each.changed.is_none() && each.change.provider.is_none())
        .map(|each| each.name.as_str())
        .collect();
    if !nameless.is_empty() {
        return Err(Failure::usage(format!(
            "new agents need a provider: {}",
            nameless.join(", ")
        ))
        .with_hint(
            "add `provider: claude-code` to each in the file, or give --provider for all of them",
        ));
    }
    let mut table = Table::new(
        "The files describe no agent",
        &["agent", "result", "fields"],
    );
    let mut results = Vec::new();
    for each in planned {
        let result = each.word();
        let Planned {
            name,
            change,
            changed,
        } = each;
        if !dry_run {
            let change = Input::Typed(change);
            let failed = |error| {
                let failure = Failure::from(error);
                Failure {
                    message: format!("{name}: {}", failure.message),
                    ..failure
                }
            };
            let agents = client.agents();
            match result {
                "created" => drop(agents.create(&name, &change).await.map_err(failed)?),
                "changed" => drop(agents.edit(&name, &change).await.map_err(failed)?),
                _ => {}
            }
        }
        let fields = changed.unwrap_or_default();
        table.row([name.as_str(), result, &fields.join(" ")]);
        results.push(Imported {
            name,
            result,
            fields,
        });
    }
    if server.json {
        let report = Report {
            data: results,
            dry_run,
        };
        let report = serde_json::to_string(&report).map_err(|error| Failure::caused(&error))?;
        return ui.line(report);
    }
    ui.table(&table)?;
    if dry_run {
        ui.notice("dry run: no agent was created or changed");
    }
    Ok(())
}

fn plan(
    described: Described,
    provider: Option<Provider>,
    known: &[Agent],
) -> Result<Planned, Failure> {
    let Described {
        name,
        mut change,
        default_provider,
    } = described;
    let names: Vec<_> = known.iter().map(|agent| agent.name.clone()).collect();
    let existing = match_agent_name(&name, &names);
    let Some(before) = known.iter().find(|agent| Some(&agent.name) == existing) else {
        change.provider = change.provider.or(provider).or(default_provider);
        return Ok(Planned {
            name,
            change,
            changed: None,
        });
    };
    let after = change.clone().apply_to(before.clone());
    Ok(Planned {
        name: before.name.to_string(),
        changed: Some(differing(before, &after)?),
        change,
    })
}

/// Lists the fields that differ.
fn differing(before: &Agent, after: &Agent) -> Result<Vec<String>, Failure> {
    let fields = |agent: &Agent| match serde_json::to_value(agent) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(serde_json::Map::new()),
        Err(error) => Err(Failure::caused(&error)),
    };
    let (before, after) = (fields(before)?, fields(after)?);
    let differing = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value));
    Ok(differing.map(|(key, _)| key.clone()).collect())
}

fn text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    Ok(text)
}
