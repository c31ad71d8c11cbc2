//! `chorus task`

mod conversation;
mod list;
mod needs;
mod picture;
mod queue;
mod show;
mod tree;

pub(super) use conversation::written;

use super::arguments::{ServerArguments, TaskCommand};
use super::ui::{Failure, Ui};
use crate::api::StatusInput;
use crate::client::Reply;
use crate::domain::{PlanningChange, Status, Task, Text};

pub(super) async fn run(ui: Ui, command: TaskCommand) -> Result<(), Failure> {
    match command {
        TaskCommand::Create(arguments) => needs::create(ui, arguments).await,
        TaskCommand::List(arguments) => list::run(ui, arguments).await,
        TaskCommand::Wait {
            task,
            timeout,
            server,
        } => super::handoff::wait(ui, &task, timeout, &server).await,
        TaskCommand::Queue { task, add, server } => match add {
            Some(text) => queue::add(ui, &task, text, &server).await,
            None => queue::show(ui, &task, &server).await,
        },
        TaskCommand::Ready(arguments) => super::ready::run(ui, arguments).await,
        TaskCommand::Route(arguments) => super::route::run(ui, arguments).await,
        TaskCommand::Report(arguments) => super::report::run(ui, arguments).await,
        TaskCommand::Edit {
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
            let status = Status::new(status.into(), message.map(Text::lossy)).ok_or_else(|| {
                Failure::new("status: only the status `failed` may have a message")
            })?;
            let input = StatusInput { status };
            let reply = server.client()?.tasks().set_status(&task, &input).await?;
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
            let list = |items: Vec<String>| {
                let items: Vec<_> = items.into_iter().map(Text::lossy).collect();
                (!items.is_empty()).then_some(items)
            };
            let change = PlanningChange {
                summary: summary.map(Text::lossy),
                requirements: list(requirements),
                acceptance_criteria: list(acceptance_criteria),
                plan: list(plan),
            };
            done(
                ui,
                &server,
                &server.client()?.tasks().plan(&task, &change).await?,
            )
        }
        TaskCommand::Tree {
            task,
            mermaid,
            dot,
            server,
        } => {
            let reply = server.client()?.tasks().tree(&task).await?;
            if server.json {
                return ui.text(&reply.text);
            }
            let answer = reply.answer()?;
            let (tree, now) = (answer.data, answer.meta.timestamp);
            ui.line(if mermaid {
                picture::mermaid(&tree, &task, now)
            } else if dot {
                picture::dot(&tree, &task, now)
            } else {
                tree::draw(&tree, &task, now).join("\n")
            })
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

/// Prints the status of a task that was changed.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply<Task>) -> Result<(), Failure> {
    server.show(ui, reply, |task| {
        ui.line(format_args!("{} {}", task.id, task.status.name().as_str()))
    })
}
