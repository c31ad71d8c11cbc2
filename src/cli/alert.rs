//! `chorus alert`

use reqwest::Method;
use serde_json::json;

use super::arguments::{AlertCommand, ServerArguments};
use super::server::{segment, text_or_stdin};
use super::ui::{Failure, Table, Ui, one_line, time};
use crate::api::Answer;
use crate::client::{Client, ClientError};
use crate::domain::Alert;

pub(super) async fn run(ui: Ui, command: AlertCommand) -> Result<(), Failure> {
    match command {
        AlertCommand::Raise {
            message,
            task,
            server,
        } => raise(ui, message, task, &server).await,
        AlertCommand::Resolve { alerts, server } => resolve(ui, &alerts, &server).await,
        AlertCommand::List {
            all,
            limit,
            after,
            server,
        } => list(ui, all, limit, after, &server).await,
    }
}

async fn raise(
    ui: Ui,
    message: String,
    task: Option<String>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let mut body = json!({ "message": text_or_stdin(message)? });
    if let Some(task) = task {
        body["taskId"] = task.into();
    }
    let reply = server
        .client()?
        .send_json(Method::POST, "/api/alerts", &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    ui.line(&reply.data::<Alert>()?.id)
}

/// Resolves each alert. One that cannot be resolved does not keep the others from it; the first decides the exit code.
async fn resolve(ui: Ui, alerts: &[String], server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let mut failed: Option<Failure> = None;
    for alert in alerts {
        let path = format!("/api/alerts/{}/resolve", segment(alert));
        match client.send(client.request(Method::POST, &path)).await {
            Ok(reply) if server.print_json(ui, &reply)? => {}
            Ok(reply) => ui.line(format_args!("{} resolved", reply.data::<Alert>()?.id))?,
            Err(error @ ClientError::Refused { .. }) => {
                let Failure { exit, message, .. } = error.into();
                let failure = failed.get_or_insert_with(|| Failure {
                    exit,
                    ..Failure::new("")
                });
                if !failure.message.is_empty() {
                    failure.message.push('\n');
                }
                failure.message.push_str(&message);
            }
            Err(error) => return Err(error.into()),
        }
    }
    failed.map_or(Ok(()), Err)
}

async fn list(
    ui: Ui,
    all: bool,
    limit: u32,
    after: Option<String>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let mut query = vec![("limit", limit.to_string())];
    query.extend(all.then(|| ("resolved", "true".to_owned())));
    query.extend(after.map(|after| ("after", after)));
    let reply = server.client()?.get("/api/alerts", &query).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let Answer { data, meta } = reply.answer::<Vec<Alert>>()?;
    let mut table = Table::new(&["id", "raised", "by", "about", "resolved", "message"]);
    for alert in &data {
        table.row([
            alert.id.as_str(),
            &time(alert.raised_at),
            alert.raised_by.as_str(),
            &about(alert),
            &alert.resolved_at.map_or_else(|| "-".to_owned(), time),
            alert.message.as_str(),
        ]);
    }
    ui.table(&table)?;
    if let Some(next) = meta.next {
        ui.notice(format_args!("There are more: --after {}", one_line(&next)));
    }
    Ok(())
}

/// Says what an alert is about: a place in a file, a task, or nothing.
fn about(alert: &Alert) -> String {
    match (&alert.file, alert.line, &alert.task_id) {
        (Some(file), Some(line), _) => format!("{file}:{line}"),
        (_, _, Some(task_id)) => task_id.to_string(),
        _ => "-".to_owned(),
    }
}

/// Says how many alerts are active, if any are. A server that cannot tell is not worth failing for.
pub(super) async fn notice_active(ui: Ui, client: &Client) {
    let Ok(reply) = client.get("/api/alerts", &[]).await else {
        return;
    };
    let Ok(Answer { data, meta }) = reply.answer::<Vec<Alert>>() else {
        return;
    };
    let number = match (data.len(), meta.next) {
        (0, _) => return,
        (1, None) => "1 alert is".to_owned(),
        (number, None) => format!("{number} alerts are"),
        (number, Some(_)) => format!("More than {number} alerts are"),
    };
    ui.notice(format_args!("{number} active: chorus alert list"));
}
