//! `chorus task`

mod conversation;
mod list;
mod needs;
mod picture;
mod show;
mod tree;

use reqwest::Method;
use serde_json::json;

use super::arguments::{ServerArguments, TaskCommand};
use super::server::segment;
use super::ui::{Failure, Ui};
use crate::client::Reply;
use crate::domain::{StatusName, Task, TaskTree};

pub(super) async fn run(ui: Ui, command: TaskCommand) -> Result<(), Failure> {
    match command {
        TaskCommand::Create(arguments) => needs::create(ui, arguments).await,
        TaskCommand::List(arguments) => list::run(ui, arguments).await,
        TaskCommand::Ready(arguments) => super::ready::run(ui, arguments).await,
        TaskCommand::Route(arguments) => super::route::run(ui, arguments).await,
        TaskCommand::Report(arguments) => super::report::run(ui, arguments).await,
        TaskCommand::Update {
            task,
            needs,
            merge,
            server,
        } => needs::update(ui, &task, *needs, merge, &server).await,
        TaskCommand::Show { task, full, server } => show::run(ui, &task, full, &server).await,
        TaskCommand::Status {
            task,
            status,
            message,
            server,
        } => {
            let mut body = json!({ "status": { "type": StatusName::from(status).as_str() } });
            if let Some(message) = message {
                body["status"]["message"] = message.into();
            }
            let path = format!("/api/tasks/{}/status", segment(&task));
            let reply = server
                .client()?
                .send_json(Method::PUT, &path, &body)
                .await?;
            done(ui, &server, &reply)
        }
        TaskCommand::Plan {
            task,
            summary,
            requirements,
            acceptance_criteria,
            plan,
            server,
        } => {
            let list = |items: Vec<String>| (!items.is_empty()).then_some(items);
            let mut body = serde_json::Map::new();
            for (key, value) in [
                ("summary", summary.map(Into::into)),
                ("requirements", list(requirements).map(Into::into)),
                (
                    "acceptanceCriteria",
                    list(acceptance_criteria).map(Into::into),
                ),
                ("plan", list(plan).map(Into::into)),
            ] {
                body.extend(value.map(|value: serde_json::Value| (key.to_owned(), value)));
            }
            let path = format!("/api/tasks/{}/planning", segment(&task));
            let reply = server
                .client()?
                .send_json(Method::PUT, &path, &body)
                .await?;
            done(ui, &server, &reply)
        }
        TaskCommand::Tree {
            task,
            mermaid,
            dot,
            server,
        } => {
            let path = format!("/api/tasks/{}/tree", segment(&task));
            let reply = server.client()?.get(&path, &[]).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            let tree: TaskTree = reply.data()?;
            if mermaid {
                ui.line(picture::mermaid(&tree, &task))
            } else if dot {
                ui.line(picture::dot(&tree, &task))
            } else {
                ui.line(tree::draw(&tree, &task).join("\n"))
            }
        }
        TaskCommand::Conversation {
            task,
            limit,
            after,
            server,
        } => conversation::show(ui, &task, limit, after, &server).await,
        TaskCommand::Say {
            task,
            text,
            message_type,
            server,
        } => conversation::say(ui, &task, text, message_type, &server).await,
    }
}

/// Says in one line where a task stands after it was changed.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply) -> Result<(), Failure> {
    if server.print_json(ui, reply)? {
        return Ok(());
    }
    let task: Task = reply.data()?;
    ui.line(format_args!("{} {}", task.id, task.status.name().as_str()))
}
