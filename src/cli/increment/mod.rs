//! `chorus increment`

mod show;
mod waiting;

use super::arguments::{CreateIncrementArguments, IncrementCommand};
use super::input::{absolute, source, text_or_stdin};
use super::ui::{Failure, Table, Ui, time};
use crate::api::{Answer, IncrementInput};
use crate::client::{Client, IncrementList};
use crate::domain::{Increment, IncrementId, IncrementState, IncrementTasks, Text};

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
                client.increments().get(&increment).await?
            };
            let shown = reply.data()?;
            if server.json {
                ui.text(&reply.text)?;
            } else {
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
            let reply = client.increments().retry(&increment).await?;
            server.show(ui, &reply, |shown| {
                ui.line(format_args!(
                    "{} continues in round {}",
                    shown.increment.id, shown.increment.round
                ))
            })
        }
        IncrementCommand::List {
            state,
            limit,
            after,
            server,
        } => {
            let list = IncrementList {
                state,
                limit: Some(limit),
                after: after.map(Into::into),
            };
            let reply = server.client()?.increments().list(&list).await?;
            server.show_list(ui, &reply, table)
        }
    }
}

/// Fetches the dependencies of an increment.
async fn before(client: &Client, shown: &IncrementTasks) -> Result<Vec<Increment>, Failure> {
    let mut before = Vec::new();
    for id in &shown.depends_on {
        let found = client.increments().get(id.as_str()).await?;
        before.push(found.data()?.increment);
    }
    Ok(before)
}

/// Creates an increment. Prints its id to standard output, for scripts, and its tasks to standard error, for people.
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
    let input = IncrementInput {
        title: Text::lossy(title),
        description: text_or_stdin(description)?,
        test_command: test_command.map(Text::lossy),
        depends_on: depends_on
            .into_iter()
            .map(|id| {
                IncrementId::parse(id)
                    .map_err(|error| Failure::usage(format!("--depends-on: an id {error}")))
            })
            .collect::<Result<_, _>>()?,
        specialist_tags: tags.map(|tags| tags.0).unwrap_or_default(),
        priority,
        agent_workspace: workspace.as_deref().map(absolute).transpose()?,
        source: Some(source()),
    };
    let reply = server.client()?.increments().create(&input).await?;
    server.show(ui, &reply, |made| {
        ui.line(&made.increment.id)?;
        for (part, task) in show::in_order(&made) {
            ui.notice(format_args!("{:<14}  {}", part.stage.as_str(), task.id));
        }
        Ok(())
    })
}

fn table(answer: &Answer<Vec<Increment>>) -> Table {
    let mut table = Table::new(
        "No increments found; create one with `chorus increment create`",
        &["id", "state", "round", "updated", "title", "blocked by"],
    );
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
    table
}
