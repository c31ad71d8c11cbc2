//! `chorus request top`

use super::super::arguments::ServerArguments;
use super::super::ui::{Failure, Table, Ui, duration};
use crate::api::Answer;
use crate::domain::{DispatchedRequest, Timestamp, WaitingRequest};
use crate::words::counted;

pub(super) async fn run(ui: Ui, server: &ServerArguments) -> Result<(), Failure> {
    let reply = server.client()?.dispatch().overview().await?;
    if server.json {
        return ui.text(&reply.text);
    }
    let Answer { data, meta } = reply.answer()?;
    let now = meta.timestamp;
    let mut table = Table::new(
        "No request is approved and waiting",
        &[
            "what", "for", "priority", "kind", "agent", "hand-off", "where", "request", "title",
        ],
    );
    for request in &data.running {
        running(&mut table, request, now);
    }
    for (what, requests) in [("queued", &data.waiting), ("stuck", &data.stuck)] {
        for request in requests {
            waiting(&mut table, what, request, now);
        }
    }
    ui.table(&table)?;
    for held in &data.held {
        ui.notice(format_args!(
            "{} of kind {} will not start. {}",
            counted(held.count, "request"),
            held.kind,
            held.reason
        ));
    }
    if data.running.is_empty() && data.waiting.is_empty() && data.stuck.is_empty() {
        ui.notice("No request is running or queued");
    }
    if !data.enabled {
        ui.notice("The dispatcher is off: approved requests wait to be claimed");
    }
    Ok(())
}

fn since(since: Timestamp, now: Timestamp) -> String {
    duration(now.as_millis() - since.as_millis())
}

fn running(table: &mut Table, request: &DispatchedRequest, now: Timestamp) {
    let what = request.run.as_deref().unwrap_or("claimed");
    let agent = request.agent.as_ref().map_or("-", |agent| agent.as_str());
    let handoff = request.handoff_id.as_ref().map_or("-", |id| id.as_str());
    let place = request.job_id.as_ref().or(request.workspace.as_ref());
    table.row([
        what,
        &since(request.since, now),
        request.priority.as_str(),
        request.kind.as_str(),
        agent,
        handoff,
        place.map_or("-", |place| place.as_str()),
        request.id.as_str(),
        request.title.as_str(),
    ]);
}

fn waiting(table: &mut Table, what: &str, request: &WaitingRequest, now: Timestamp) {
    table.row([
        what,
        &since(request.since, now),
        request.priority.as_str(),
        request.kind.as_str(),
        "-",
        "-",
        "-",
        request.id.as_str(),
        request.title.as_str(),
    ]);
}
