//! `chorus request wait`

use std::time::Duration;

use super::super::arguments::WaitArguments;
use super::super::ui::{Failure, Ui, one_line};
use super::super::wait::{Question, deadline_after, patient};
use crate::domain::RequestState;
use crate::words::counted;

/// Waits until a request has reached a state, and prints its response.
pub(in crate::cli) async fn wait(ui: Ui, arguments: WaitArguments) -> Result<(), Failure> {
    let WaitArguments {
        request: id,
        state,
        timeout,
        server,
    } = arguments;
    let state = RequestState::from(state);
    let client = server.client()?;
    let deadline = deadline_after(timeout.map(Duration::from_secs));
    let mut told = None;
    loop {
        let Question { seconds, is_last } = Question::before(deadline);
        // The first question does not wait, so that an obstacle is printed at once.
        let seconds = told.map_or(0, |_| seconds);
        let client = patient(&client, deadline);
        let reply = client.requests().wait(&id, state, seconds).await?;
        let request = reply.data()?;
        if request.state.has_reached(state) {
            return server.show(ui, &reply, |request| match &request.response {
                Some(response) => ui.text(response.as_str()),
                None => Ok(()),
            });
        }
        if request.withdrawn_at.is_some() {
            return Err(Failure::new(format!(
                "request {id} was withdrawn: its tag was removed from its file"
            )));
        }
        let went_wrong = request
            .recovery
            .last()
            .map_or_else(String::new, |recovery| {
                format!("; the last attempt: {}", one_line(recovery.reason.as_str()))
            });
        if request.stuck {
            return Err(Failure::new(format!(
                "request {id} is stuck after {}{went_wrong}",
                counted(request.attempts, "attempt")
            ))
            .with_hint(format!(
                "see `chorus request show {id}`; ask the operator to approve the request again, then wait again"
            )));
        }
        if is_last {
            return Err(Failure::timed_out(format!(
                "request {id} is still {}, not {}{went_wrong}",
                request.state.as_str(),
                state.as_str()
            )));
        }
        if told.is_none() && request.state != RequestState::Claimed {
            super::notice_kind(ui, &client, &request.kind).await;
        }
        for recovery in request.recovery.iter().skip(told.unwrap_or(0)) {
            ui.notice(format_args!(
                "request {id} failed: {} ({})",
                one_line(recovery.reason.as_str()),
                recovery.action
            ));
        }
        told = Some(request.recovery.len());
    }
}
