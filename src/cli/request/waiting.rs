//! `chorus request wait`

use std::time::Duration;

use tokio::time::Instant;

use super::super::arguments::AwaitArguments;
use super::super::ui::{Failure, Ui, count, one_line};
use super::super::wait::{Question, patiently};
use crate::domain::RequestState;

/// Waits until a request has reached a state, and prints its response.
pub(in crate::cli) async fn wait(ui: Ui, arguments: AwaitArguments) -> Result<(), Failure> {
    let AwaitArguments {
        request: id,
        state,
        timeout,
        server,
    } = arguments;
    let state = RequestState::from(state);
    let client = server.client()?;
    let deadline = timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let Question { seconds, is_last } = Question::before(deadline);
        let ask = async || client.requests().wait(&id, state, seconds).await;
        let reply = patiently(deadline, ask).await?;
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
                count(request.attempts.into(), "attempt")
            ))
            .with_hint(format!(
                "look at `chorus request show {id}`; when the operator has approved it again, wait again"
            )));
        }
        if is_last {
            return Err(Failure::new(format!(
                "request {id} is still {} and not {}{went_wrong}",
                request.state.as_str(),
                state.as_str()
            )));
        }
    }
}
