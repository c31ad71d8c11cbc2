//! `chorus task route`

use reqwest::Method;
use serde_json::Value;

use super::arguments::{RouteArguments, ServerArguments};
use super::server::segment;
use super::ui::{Exit, Failure, Table, Ui, one_line};
use crate::api::Answer;
use crate::client::{Client, Reply};
use crate::domain::{AgentName, Role, RouteChoice, Task};

/// How many tasks are looked at where none is named.
const SHOWN: usize = 20;

pub(super) async fn run(ui: Ui, arguments: RouteArguments) -> Result<(), Failure> {
    let RouteArguments {
        task,
        dry_run,
        server,
    } = arguments;
    match task {
        None => explain_ready(ui, &server).await,
        Some(task) if dry_run => {
            let reply = explain(&server.client()?, &task).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            show(ui, &reply.data()?)
        }
        Some(task) => route(ui, &task, &server).await,
    }
}

/// Gives a task to the agent that suits best, and prints who that is.
async fn route(ui: Ui, task: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let sent = client.request(Method::POST, &path(task));
    let reply = client.send(sent).await.map_err(|error| {
        let failure = Failure::from(error);
        match failure.exit {
            Exit::Conflict if failure.message.contains("No available agent") => failure.with_hint(
                format!("`chorus task route {task} --dry-run` says why each agent is taken or not"),
            ),
            _ => failure,
        }
    })?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let routed: Task = reply.data()?;
    let agent = routed.current_agent().map_or("-", AgentName::as_str);
    ui.line(format_args!("{} {agent}", routed.id))
}

/// Says of the first tasks that are ready and have a role who would get them.
async fn explain_ready(ui: Ui, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let (ready, has_more) = ready_with_role(&client).await?;
    let mut replies = Vec::new();
    for task in &ready {
        replies.push(explain(&client, task.id.as_str()).await?);
    }
    if server.json {
        return print_merged(ui, &replies);
    }
    let mut table = Table::new(&["priority", "id", "role", "agent", "why"]);
    for (task, reply) in ready.iter().zip(&replies) {
        let choice: RouteChoice = reply.data()?;
        let taken = choice.candidates.iter().find(|candidate| candidate.taken);
        let why = match (&choice.reason, taken) {
            (Some(reason), _) => reason.as_str(),
            (None, Some(taken)) => taken.why.as_str(),
            (None, None) => "It gets what nobody suits",
        };
        table.row([
            &task.needs.priority.get().to_string(),
            task.id.as_str(),
            task.needs.agent_role.as_ref().map_or("-", Role::as_str),
            choice.agent.as_ref().map_or("-", AgentName::as_str),
            why,
        ]);
    }
    ui.table(&table)?;
    if has_more {
        ui.notice("There are more: chorus task ready");
    }
    Ok(())
}

/// Finds the first tasks that are ready and have a role, and whether there are more.
async fn ready_with_role(client: &Client) -> Result<(Vec<Task>, bool), Failure> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let query: Vec<_> = after.map(|after| ("after", after)).into_iter().collect();
        let reply = client.get("/api/ready", &query).await?;
        let Answer { data, meta } = reply.answer::<Vec<Task>>()?;
        let has_role = |task: &Task| task.needs.agent_role.is_some();
        found.extend(data.into_iter().filter(has_role));
        if found.len() > SHOWN || meta.next.is_none() {
            let has_more = found.len() > SHOWN;
            found.truncate(SHOWN);
            return Ok((found, has_more));
        }
        after = meta.next;
    }
}

/// Prints several answers as one.
fn print_merged(ui: Ui, replies: &[Reply]) -> Result<(), Failure> {
    let mut merged = serde_json::json!({ "data": [], "meta": {} });
    for reply in replies {
        let answer: Answer<Value> = reply.answer()?;
        merged["meta"] = serde_json::json!(answer.meta);
        if let Some(all) = merged["data"].as_array_mut() {
            all.push(answer.data);
        }
    }
    ui.text(&merged.to_string())
}

async fn explain(client: &Client, task: &str) -> Result<Reply, Failure> {
    Ok(client.get(&path(task), &[]).await?)
}

fn path(task: &str) -> String {
    format!("/api/route/{}", segment(task))
}

/// Shows who would get a task, and why each agent is taken or not.
fn show(ui: Ui, choice: &RouteChoice) -> Result<(), Failure> {
    let reason = choice.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| one_line(reason.as_str()));
    ui.line(match (&choice.agent, choice.ready) {
        (Some(agent), true) if choice.fallback => {
            format!(
                "{} goes to {agent}, who gets what nobody suits",
                choice.task_id
            )
        }
        (Some(agent), true) => format!("{} goes to {agent}", choice.task_id),
        (Some(agent), false) => format!(
            "{} goes to nobody now: {}. Then it would go to {agent}",
            choice.task_id,
            reason.trim_end_matches('.')
        ),
        (None, _) => format!("{} goes to nobody: {reason}", choice.task_id),
    })?;
    let mut table = Table::new(&["agent", "score", "suits", "why"]);
    for candidate in &choice.candidates {
        let suits = match (candidate.taken, candidate.suits) {
            (true, _) => "taken",
            (false, true) => "suits",
            (false, false) => "-",
        };
        table.row([
            candidate.agent.as_str(),
            &candidate.score.to_string(),
            suits,
            candidate.why.as_str(),
        ]);
    }
    ui.table(&table)
}
