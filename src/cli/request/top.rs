//! `chorus request top`

use super::super::arguments::ServerArguments;
use super::super::ui::{Failure, Table, Ui, duration, one_line};
use crate::api::Answer;
use crate::domain::{DispatchedRequest, Timestamp, WaitingRequest};
use crate::words::counted;

/// The limit for the reason of a failure, in bytes.
const REASON: usize = 200;

pub(super) async fn run(ui: Ui, server: &ServerArguments) -> Result<(), Failure> {
    let reply = server.client()?.dispatch().overview().await?;
    if server.json {
        return ui.text(&reply.text);
    }
    let Answer { data, meta } = reply.answer()?;
    let now = meta.timestamp;
    let mut table = Table::new(
        "All requests are done",
        &[
            "what", "for", "priority", "kind", "agent", "hand-off", "where", "request", "title",
        ],
    );
    for request in &data.running {
        running(&mut table, request, now);
    }
    let unclaimed = [
        ("queued", &data.waiting),
        ("next", &data.next),
        ("stuck", &data.stuck),
        ("needs", &data.undecided),
    ];
    for (what, requests) in unclaimed {
        for request in requests {
            waiting(&mut table, what, request, now);
        }
    }
    ui.table(&table)?;
    for (_, requests) in unclaimed {
        for request in requests {
            if let Some(failure) = &request.last_failure {
                ui.notice(format_args!(
                    "Request {} failed: {}",
                    request.id,
                    one_line(failure.beginning(REASON).as_str())
                ));
            }
        }
    }
    if !data.undecided.is_empty() || !data.stuck.is_empty() {
        ui.notice("Requests in state needs wait for you: chorus request approve REQUEST");
    }
    if !data.next.is_empty() {
        ui.notice("Requests in state next wait for anyone: chorus request claim REQUEST");
    }
    for held in &data.held {
        ui.notice(format_args!(
            "{} of kind {} will not start. {}",
            counted(held.count, "request"),
            held.kind,
            held.reason
        ));
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
