//! `chorus task route`

use super::arguments::{RouteArguments, ServerArguments};
use super::server::print_answer;
use super::ui::{Exit, Failure, Table, Ui, one_line};
use crate::api::{Answer, Meta};
use crate::client::{Client, ReadyList};
use crate::domain::{AgentName, Role, RouteChoice, Task};

/// The limit for a dry run without a task.
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
            let reply = server.client()?.tasks().explain_route(&task).await?;
            server.show(ui, &reply, |choice| show(ui, &choice))
        }
        Some(task) => route(ui, &task, &server).await,
    }
}

/// Routes a task to the best agent, and prints the agent.
async fn route(ui: Ui, task: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let reply = client.tasks().route(task).await.map_err(|error| {
        let failure = Failure::from(error);
        match failure.exit {
            Exit::Conflict => failure.with_hint(format!(
                "`chorus task route {task} --dry-run` explains the choice agent by agent"
            )),
            _ => failure,
        }
    })?;
    server.show(ui, &reply, |routed| {
        let agent = routed.current_agent().map_or("-", AgentName::as_str);
        ui.line(format_args!("{} {agent}", routed.id))
    })
}

/// Explains the choice for the first tasks that are ready and have a role.
async fn explain_ready(ui: Ui, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let Answer { data: ready, meta } = ready_with_role(&client).await?;
    let mut replies = Vec::new();
    for task in &ready {
        replies.push(client.tasks().explain_route(task.id.as_str()).await?);
    }
    if server.json {
        let data = replies.iter().map(|reply| Ok(reply.read()?.data));
        let data = data.collect::<Result<_, Failure>>()?;
        let meta = Meta { next: None, ..meta };
        return print_answer(ui, &Answer { data, meta });
    }
    let mut table = Table::new(
        "No task is ready to route",
        &["priority", "id", "role", "agent", "why"],
    );
    for (task, reply) in ready.iter().zip(&replies) {
        let choice = reply.data()?;
        let taken = choice.candidates.iter().find(|candidate| candidate.taken);
        let why = match (&choice.reason, taken) {
            (Some(reason), _) => reason.as_str(),
            (None, Some(taken)) => taken.why.as_str(),
            (None, None) => "Fallback agent",
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
    if meta.next.is_some() {
        ui.notice("More tasks: chorus task ready");
    }
    Ok(())
}

/// Finds the first tasks that are ready and have a role.
async fn ready_with_role(client: &Client) -> Result<Answer<Vec<Task>>, Failure> {
    let mut list = ReadyList::default();
    let mut found = Vec::new();
    loop {
        let Answer { data, mut meta } = client.tasks().ready(&list).await?.answer()?;
        let has_role = |task: &Task| task.needs.agent_role.is_some();
        found.extend(data.into_iter().filter(has_role));
        if found.len() > SHOWN || meta.next.is_none() {
            meta.next = found.get(SHOWN).map(|task| task.id.to_string());
            found.truncate(SHOWN);
            return Ok(Answer { data: found, meta });
        }
        list.after = meta.next;
    }
}

/// Prints the choice, and the reason for or against each agent.
fn show(ui: Ui, choice: &RouteChoice) -> Result<(), Failure> {
    let reason = choice.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| one_line(reason.as_str()));
    ui.line(match (&choice.agent, choice.ready) {
        (Some(agent), true) if choice.fallback => {
            format!("{} goes to {agent}, the fallback agent", choice.task_id)
        }
        (Some(agent), true) => format!("{} goes to {agent}", choice.task_id),
        (Some(agent), false) => format!(
            "{} is not routed now: {}. Later it would go to {agent}",
            choice.task_id,
            reason.trim_end_matches('.')
        ),
        (None, _) => format!("{} goes to no agent: {reason}", choice.task_id),
    })?;
    let mut table = Table::new(
        "No agents found; create one with `chorus agent create`",
        &["agent", "score", "choice", "why"],
    );
    for candidate in &choice.candidates {
        let word = match (candidate.taken, candidate.suits) {
            (true, _) => "chosen",
            (false, true) => "suitable",
            (false, false) => "-",
        };
        table.row([
            candidate.agent.as_str(),
            &candidate.score.to_string(),
            word,
            candidate.why.as_str(),
        ]);
    }
    ui.table(&table)
}
