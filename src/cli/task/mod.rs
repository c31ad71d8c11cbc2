//! `chorus task`

mod conversation;
mod picture;
mod tree;

use reqwest::Method;
use serde_json::json;

use super::alert;
use super::arguments::{ServerArguments, StatusArgument, TaskCommand};
use super::server::{segment, text_or_stdin};
use super::ui::{Failure, Table, Ui, duration, one_line, outcome, printable, time, usage};
use crate::api::Answer;
use crate::client::Reply;
use crate::domain::{ChainEntry, StatusName, Task, TaskSummary, TaskTree, UsageSum};
use tree::status;

pub(super) async fn run(ui: Ui, command: TaskCommand) -> Result<(), Failure> {
    match command {
        TaskCommand::Create {
            description,
            workspace,
            server,
        } => create(ui, description, workspace, server).await,
        TaskCommand::List {
            status,
            limit,
            after,
            server,
        } => list(ui, status, limit, after, server).await,
        TaskCommand::Show { task, server } => {
            let reply = get(&server, &task).await?;
            if !server.print_json(ui, &reply)? {
                let path = format!("/api/tasks/{}/usage", segment(&task));
                let used = server.client()?.get(&path, &[]).await?.data()?;
                show(ui, &reply.data()?, &used)?;
            }
            Ok(())
        }
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

async fn create(
    ui: Ui,
    description: String,
    workspace: Option<String>,
    server: ServerArguments,
) -> Result<(), Failure> {
    let mut body = json!({
        "description": text_or_stdin(description)?,
        "source": { "sourceType": "cli", "userId": std::env::var("USER").unwrap_or_else(|_| "anonymous".to_owned()) },
    });
    if let Some(workspace) = workspace {
        let workspace = std::path::absolute(&workspace)
            .map_err(|error| Failure::new(format!("cannot resolve {workspace}: {error}")))?;
        body["agentWorkspace"] = workspace.to_string_lossy().into();
    }
    let reply = server
        .client()?
        .send_json(Method::POST, "/api/tasks", &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    ui.line(&reply.data::<Task>()?.id)
}

async fn list(
    ui: Ui,
    status: Option<StatusArgument>,
    limit: u32,
    after: Option<String>,
    server: ServerArguments,
) -> Result<(), Failure> {
    let mut query = vec![("view", "summary".to_owned()), ("limit", limit.to_string())];
    query.extend(status.map(|status| ("status", StatusName::from(status).as_str().to_owned())));
    query.extend(after.map(|after| ("after", after)));
    let client = server.client()?;
    let reply = client.get("/api/tasks", &query).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let Answer { data, meta } = reply.answer::<Vec<TaskSummary>>()?;
    let mut table = Table::new(&["id", "status", "agent", "updated", "description"]);
    for task in &data {
        table.row([
            task.id.as_str(),
            task.status.name().as_str(),
            task.current_agent
                .as_ref()
                .map_or("-", |agent| agent.as_str()),
            &time(task.updated_at),
            task.description.as_str(),
        ]);
    }
    ui.table(&table)?;
    if let Some(next) = meta.next {
        ui.notice(format_args!("There are more: --after {next}"));
    }
    alert::notice_active(ui, &client).await;
    Ok(())
}

async fn get(server: &ServerArguments, task: &str) -> Result<Reply, Failure> {
    Ok(server
        .client()?
        .get(&format!("/api/tasks/{}", segment(task)), &[])
        .await?)
}

/// Says in one line where a task stands after it was changed.
fn done(ui: Ui, server: &ServerArguments, reply: &Reply) -> Result<(), Failure> {
    if server.print_json(ui, reply)? {
        return Ok(());
    }
    let task: Task = reply.data()?;
    ui.line(format_args!("{} {}", task.id, task.status.name().as_str()))
}

fn show(ui: Ui, task: &Task, used: &UsageSum) -> Result<(), Failure> {
    let mut lines = vec![
        format!("task       {}", task.id),
        format!("status     {}", status(&task.status)),
        format!(
            "agent      {}",
            task.current_agent().map_or("-", |agent| agent.as_str())
        ),
        format!("created    {}", time(task.created_at)),
        format!("updated    {}", time(task.updated_at)),
        format!(
            "source     {} ({})",
            task.source.source_type, task.source.user_id
        ),
        format!("workspace  {}", task.agent_workspace),
    ];
    lines.extend(usage(used).map(|used| format!("used       {used}")));
    for attachment in &task.attachments {
        lines.push(format!(
            "file       {} ({} bytes)",
            attachment.filename, attachment.size
        ));
    }
    lines.push(format!("\n{}", task.description));
    if let Some(planning) = &task.planning {
        lines.push(format!("\nSummary\n  {}", planning.summary));
        for (heading, items) in [
            ("Requirements", &planning.requirements),
            ("Acceptance criteria", &planning.acceptance_criteria),
            ("Plan", &planning.plan),
        ] {
            if !items.is_empty() {
                lines.push(format!("\n{heading}"));
                lines.extend(items.iter().map(|item| format!("  - {item}")));
            }
        }
    }
    if !task.agent_chain().is_empty() {
        lines.push("\nAgents".to_owned());
        lines.extend(
            task.agent_chain()
                .iter()
                .map(|entry| format!("  {}", entry_line(entry))),
        );
    }
    ui.line(printable(&lines.join("\n")))
}

/// Writes who, how long, and how it ended.
fn entry_line(entry: &ChainEntry) -> String {
    let agent = &entry.agent_name;
    match &entry.end {
        None => format!("{agent}  works since {}", time(entry.started_at)),
        Some(end) => {
            let took = duration(end.at.as_millis() - entry.started_at.as_millis());
            format!(
                "{agent}  {} after {took}  {}",
                outcome(end.outcome),
                one_line(end.output.as_str())
            )
        }
    }
}
