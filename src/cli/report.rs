//! `chorus task report`

use serde_json::Value;

use super::arguments::ReportArguments;
use super::input::{json_object, text_or_stdin};
use super::own_task;
use super::server::token;
use super::ui::{Failure, Ui, one_line};
use crate::domain::Report;

/// Reports the result of the run that has started this command.
pub(super) async fn run(ui: Ui, arguments: ReportArguments) -> Result<(), Failure> {
    let ReportArguments {
        result,
        summary,
        details,
        agent_context,
        server,
    } = arguments;
    let (Some(task), Some(_)) = (own_task::in_run(), token()?) else {
        return Err(Failure::usage(
            "`chorus task report` works only inside a run, which has CHORUS_TASK_ID and CHORUS_TOKEN",
        )
        .with_hint("outside a run, set the status: chorus task status TASK completed|failed"));
    };
    let report = Report {
        result,
        summary: text_or_stdin(summary)?,
        details: details.map(structured).transpose()?,
        agent_context: agent_context
            .map(|argument| json_object("--agent-context", &argument))
            .transpose()?,
    };
    let reply = server.client()?.tasks().report(&task, &report).await?;
    server.show(ui, &reply, |_| {
        // For an agent that prints nothing else, this line is the final message.
        let summary = one_line(report.summary.as_str());
        let separator = if summary.is_empty() { "" } else { ": " };
        ui.line(format_args!("{}{separator}{summary}", result.as_str()))
    })
}

/// Parses details as a JSON object or array; other text stays text.
fn structured(argument: String) -> Result<Value, Failure> {
    let text = text_or_stdin(argument)?.into_string();
    Ok(match serde_json::from_str(&text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => text.into(),
    })
}
