//! `chorus increment`

mod show;
mod waiting;

use reqwest::Method;
use serde_json::json;

use super::arguments::{CreateIncrementArguments, IncrementCommand};
use super::input::{absolute, user};
use super::server::{segment, text_or_stdin};
use super::ui::{Failure, Table, Ui, time};
use crate::api::Answer;
use crate::client::Client;
use crate::domain::{Increment, IncrementState, IncrementTasks};

pub(super) async fn run(ui: Ui, command: IncrementCommand) -> Result<(), Failure> {
    match command {
        IncrementCommand::Create(arguments) => create(ui, arguments).await,
        IncrementCommand::Show {
            increment,
            wait,
            server,
        } => {
            let client = server.client()?;
            let reply = if wait {
                waiting::until_settled(&client, &increment).await?
            } else {
                client.get(&path(&increment), &[]).await?
            };
            let shown: IncrementTasks = reply.data()?;
            if !server.print_json(ui, &reply)? {
                let before = before(&client, &shown).await?;
                ui.line(show::draw(&shown, &before))?;
            }
            if wait && shown.increment.state == IncrementState::Blocked {
                return Err(waiting::blocked(&shown));
            }
            Ok(())
        }
        IncrementCommand::Retry { increment, server } => {
            let client = server.client()?;
            let path = format!("{}/retry", path(&increment));
            let sent = client.request(Method::POST, &path);
            let reply = client.send(sent).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            let shown: IncrementTasks = reply.data()?;
            ui.line(format_args!(
                "{} goes on, in round {}",
                shown.increment.id, shown.increment.round
            ))
        }
        IncrementCommand::List {
            state,
            limit,
            after,
            server,
        } => {
            let mut query = vec![("limit", limit.to_string())];
            query.extend(state.map(|state| ("state", state.as_str().to_owned())));
            query.extend(after.map(|after| ("after", after)));
            let reply = server.client()?.get("/api/increments", &query).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            list(ui, &reply.answer()?)
        }
    }
}

/// Finds the increments that one depends on.
async fn before(client: &Client, shown: &IncrementTasks) -> Result<Vec<Increment>, Failure> {
    let mut before = Vec::new();
    for id in &shown.depends_on {
        let found: IncrementTasks = client.get(&path(id.as_str()), &[]).await?.data()?;
        before.push(found.increment);
    }
    Ok(before)
}

fn path(increment: &str) -> String {
    format!("/api/increments/{}", segment(increment))
}

/// Makes an increment. Its id goes to standard output, for scripts; its tasks beside it, for people.
async fn create(ui: Ui, arguments: CreateIncrementArguments) -> Result<(), Failure> {
    let CreateIncrementArguments {
        title,
        description,
        test_command,
        depends_on,
        tags,
        priority,
        workspace,
        server,
    } = arguments;
    let mut body = json!({
        "title": title,
        "description": text_or_stdin(description)?,
        "dependsOn": depends_on,
        "specialistTags": tags.map(|tags| tags.0).unwrap_or_default(),
        "source": { "sourceType": "cli", "userId": user() },
    });
    if let Some(command) = test_command {
        body["testCommand"] = command.into();
    }
    if let Some(priority) = priority {
        body["priority"] = json!(priority);
    }
    if let Some(workspace) = workspace {
        body["agentWorkspace"] = absolute(&workspace)?.into();
    }
    let reply = server
        .client()?
        .send_json(Method::POST, "/api/increments", &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let made: IncrementTasks = reply.data()?;
    ui.line(&made.increment.id)?;
    for (part, task) in show::in_order(&made) {
        ui.notice(format_args!("{:<14}  {}", part.stage.as_str(), task.id));
    }
    Ok(())
}

fn list(ui: Ui, answer: &Answer<Vec<Increment>>) -> Result<(), Failure> {
    let mut table = Table::new(&["id", "state", "round", "updated", "title", "blocked by"]);
    for increment in &answer.data {
        let reason = increment.blocked_by.as_ref();
        table.row([
            increment.id.as_str(),
            increment.state.as_str(),
            &increment.round.to_string(),
            &time(increment.updated_at),
            increment.title.as_str(),
            reason.map_or("-", |reason| reason.as_str()),
        ]);
    }
    ui.table(&table)?;
    if let Some(next) = &answer.meta.next {
        ui.notice(format_args!("There are more: --after {next}"));
    }
    Ok(())
}
