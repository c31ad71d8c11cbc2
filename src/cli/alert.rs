//! `chorus alert`

use super::arguments::{AlertArgument, AlertCommand, ServerArguments};
use super::input::{optional, text_or_stdin};
use super::ui::{Failure, Table, Ui, party, time};
use crate::api::{AlertInput, Answer};
use crate::client::{AlertList, Client, ClientError};
use crate::domain::Alert;

pub(super) async fn run(ui: Ui, command: AlertCommand) -> Result<(), Failure> {
    match command {
        AlertCommand::Create {
            message,
            task,
            server,
        } => {
            let input = AlertInput {
                message: text_or_stdin(message)?,
                task_id: optional("taskId", task)?,
            };
            let reply = server.client()?.alerts().create(&input).await?;
            server.show(ui, &reply, |alert| ui.line(&alert.id))
        }
        AlertCommand::Resolve { alerts, server } => resolve(ui, &alerts, &server).await,
        AlertCommand::List {
            all,
            limit,
            after,
            server,
        } => {
            let list = AlertList {
                resolved: all,
                limit: Some(limit),
                after: after.map(Into::into),
            };
            let reply = server.client()?.alerts().list(&list).await?;
            server.show_list(ui, &reply, table)
        }
    }
}

/// Resolves all alerts, also after a refusal. The first refusal decides the exit code.
async fn resolve(
    ui: Ui,
    alerts: &[AlertArgument],
    server: &ServerArguments,
) -> Result<(), Failure> {
    let client = server.client()?;
    let mut failed: Option<Failure> = None;
    for alert in alerts {
        match client.alerts().resolve(alert).await {
            Ok(reply) => server.show(ui, &reply, |alert| {
                ui.line(format_args!("{} resolved", alert.id))
            })?,
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

fn table(answer: &Answer<Vec<Alert>>) -> Table {
    let mut table = Table::new(
        "No active alerts",
        &["id", "raised", "by", "about", "resolved", "message"],
    );
    for alert in &answer.data {
        table.row([
            alert.id.as_str(),
            &time(alert.raised_at),
            party(&alert.raised_by),
            &about(alert),
            &alert.resolved_at.map_or_else(|| "-".to_owned(), time),
            alert.message.as_str(),
        ]);
    }
    table
}

/// Formats the subject of an alert: a line of a file, a task, or `-`.
fn about(alert: &Alert) -> String {
    match (&alert.file, alert.line, &alert.task_id) {
        (Some(file), Some(line), _) => format!("{file}:{line}"),
        (_, _, Some(task_id)) => task_id.to_string(),
        _ => "-".to_owned(),
    }
}

/// Prints the number of active alerts, if there are any. Failures are ignored: the alerts are not what the user asked for.
pub(super) async fn notice_active(ui: Ui, client: &Client) {
    let reply = client.alerts().list(&AlertList::default()).await;
    let Ok(Answer { data, meta }) = reply.and_then(|reply| reply.answer()) else {
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
