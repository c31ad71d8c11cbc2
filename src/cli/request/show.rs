//! Requests on the screen.

use super::super::ui::{Failure, Table, Ui, one_line, party, printable, time};
use crate::api::Answer;
use crate::domain::{Recovery, Request, RequestSourceType, RequestState, Transition};

pub(super) fn table(answer: &Answer<Vec<Request>>) -> Table {
    let mut table = Table::new(
        "No requests found",
        &["id", "state", "priority", "kind", "who", "title"],
    );
    for request in &answer.data {
        let who = request.lease.as_ref().map(|lease| lease.agent.as_str());
        table.row([
            request.id.as_str(),
            &state(request),
            request.priority.as_str(),
            request.kind.as_str(),
            who.unwrap_or("-"),
            request.title.as_str(),
        ]);
    }
    table
}

/// Formats a state, with a remark if the request needs the operator's attention.
fn state(request: &Request) -> String {
    let state = request.state.as_str();
    if request.withdrawn_at.is_some() {
        format!("{state} (withdrawn)")
    } else if request.stuck {
        format!("{state} (stuck)")
    } else if request.state == RequestState::Needs && !request.recovery.is_empty() {
        format!("{state} (returned)")
    } else {
        state.to_owned()
    }
}

pub(super) fn one(ui: Ui, request: &Request) -> Result<(), Failure> {
    let mut lines = vec![
        format!("request   {}", request.id),
        format!("title     {}", request.title),
        format!("state     {}", state(request)),
        format!("kind      {}", request.kind),
        format!("priority  {}", request.priority.as_str()),
    ];
    lines.extend(
        request
            .effort
            .map(|effort| format!("effort    {}", effort.as_str())),
    );
    lines.push(format!("source    {}", source(request)));
    let workspace = request.agent_workspace.as_ref();
    lines.extend(workspace.map(|workspace| format!("workspace {workspace}")));
    lines.extend(request.task_id.as_ref().map(|id| format!("task      {id}")));
    lines.extend(
        request
            .handoff_id
            .as_ref()
            .map(|id| format!("hand-off  {id}")),
    );
    lines.extend(request.job_id.as_ref().map(|id| format!("job       {id}")));
    lines.extend(request.lease.as_ref().map(|lease| {
        format!(
            "claimed   by {}, fencing token {}, until {}",
            lease.agent,
            lease.fencing,
            time(lease.expires_at)
        )
    }));
    if !request.body.is_blank() {
        lines.push(format!("\n{}", request.body.as_str().trim_end()));
    }
    lines.push("\nHistory".to_owned());
    lines.extend(request.transitions.iter().map(transition));
    if !request.recovery.is_empty() {
        lines.push("\nRecovery".to_owned());
        lines.extend(request.recovery.iter().map(recovery));
    }
    if let Some(response) = &request.response {
        lines.push(format!("\nResponse\n{}", response.as_str().trim_end()));
    }
    ui.line(printable(&lines.join("\n")))
}

fn source(request: &Request) -> String {
    let source = &request.source;
    match source.source_type {
        RequestSourceType::File => {
            let file = source.file.as_ref().map_or("", |file| file.as_str());
            match source.line {
                Some(line) => format!("{file}:{line}"),
                None => file.to_owned(),
            }
        }
        RequestSourceType::Task => match &source.task_id {
            Some(id) => format!("task {id}"),
            None => "a task".to_owned(),
        },
        RequestSourceType::Person => match &source.user_id {
            Some(user) => party(user).to_owned(),
            None => "a person".to_owned(),
        },
    }
}

fn transition(moved: &Transition) -> String {
    let reason = moved.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| {
        format!(": {}", one_line(reason.as_str()))
    });
    format!(
        "  {}  {:<9}  {}{reason}",
        time(moved.at),
        moved.to.as_str(),
        party(&moved.by)
    )
}

fn recovery(recovery: &Recovery) -> String {
    format!(
        "  {}  {} ({})",
        time(recovery.date),
        one_line(recovery.reason.as_str()),
        recovery.action
    )
}
