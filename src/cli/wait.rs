//! Waiting: for the end of a hand-off and its successors, and for a server that is away.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::alive;
use super::arguments::ServerArguments;
use super::progress::{Followed, Progress};
use super::ui::{Exit, Failure, Ui, outcome};
use crate::client::{Client, Patience, Reply};
use crate::domain::{
    AgentName, AskedHandoff, ChainEntry, Handoff, HandoffId, Outcome, Task, TaskId,
};

/// The longest wait of one request, in seconds.
const POLL: u64 = 25;

/// The longest time for which a command without a time limit waits for a server that cannot use its database.
const UNUSABLE: Duration = Duration::from_mins(30);

/// The longest absence of the server, such as for a restart, before a wait fails.
const AWAY: Duration = Duration::from_mins(1);

/// Returns the task and its new hand-off. The task may be a child of the named one.
pub(super) fn started(reply: &Reply<Task>) -> Result<(Task, ChainEntry), Failure> {
    let task = reply.data()?;
    let entry = task.agent_chain().last().cloned();
    let entry = entry.ok_or_else(|| Failure::new("the server answered without a hand-off"))?;
    Ok((task, entry))
}

/// Describes a new hand-off, which may have to wait for a free slot.
pub(super) fn handed(task: &TaskId, agent: &str, handoff: &HandoffId) -> String {
    format!("handed {task} to {agent} (hand-off {handoff})")
}

/// Waits for the end of a hand-off and of its successors. Returns the last one.
pub(super) async fn follow(
    ui: Ui,
    client: &Client,
    progress: Progress,
    followed: Followed,
    timeout: Option<Duration>,
) -> Result<Reply<Handoff>, Failure> {
    let current = watch::Sender::new(followed);
    let reply = tokio::select! {
        reply = to_the_end(ui, client, &current, timeout) => reply,
        never = progress.show(&current) => never,
        never = alive::report(ui, client, &current) => never,
        Ok(()) = tokio::signal::ctrl_c() => Err(interrupted(&current.borrow().task)),
    };
    reply.map_err(|failure| match failure.exit {
        Exit::Unreachable => failure.with_hint(format!(
            "the agent continues without the server; `chorus task wait {}` waits again",
            current.borrow().task
        )),
        _ => failure,
    })
}

/// The end of a wait by Ctrl-C, which does not reach the agent.
fn interrupted(task: &TaskId) -> Failure {
    Failure::interrupted("Interrupted; the hand-off continues")
        .with_hint(format!("`chorus task wait {task}` waits again"))
        .with_hint(format!("`chorus cancel {task}` ends the hand-off"))
}

/// Waits for one hand-off after the other, with a notice for each move of control.
async fn to_the_end(
    ui: Ui,
    client: &Client,
    current: &watch::Sender<Followed>,
    timeout: Option<Duration>,
) -> Result<Reply<Handoff>, Failure> {
    let deadline = deadline_after(timeout);
    loop {
        let id = current.borrow().handoff.clone();
        let reply = wait(client, &id, deadline).await?;
        let handoff = reply.data()?;
        let Some(next) = handoff.outcome.and(handoff.transferred_to) else {
            return Ok(reply);
        };
        let goes_on = ask(client, &next, 0, deadline).await?.data()?;
        ui.notice(format_args!(
            "→ {} continues (hand-off {next})",
            goes_on.agent_name
        ));
        current.send_replace(Followed {
            task: goes_on.task_id,
            handoff: next,
        });
    }
}

/// Waits for the end of a hand-off or for the deadline. Survives a restart of the server.
async fn wait(
    client: &Client,
    handoff: &HandoffId,
    deadline: Option<Instant>,
) -> Result<Reply<Handoff>, Failure> {
    loop {
        let Question { seconds, is_last } = Question::before(deadline);
        let reply = ask(client, handoff, seconds, deadline).await?;
        let has_ended = reply.data()?.outcome.is_some();
        if has_ended || is_last {
            return Ok(reply);
        }
    }
}

/// Returns no deadline for a timeout that ends after the last instant of the clock.
pub(super) fn deadline_after(timeout: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(timeout?)
}

/// A long poll.
pub(super) struct Question {
    pub seconds: u64,
    /// Whether the deadline leaves no time for another one.
    pub is_last: bool,
}

impl Question {
    /// Plans the next poll before a deadline.
    pub fn before(deadline: Option<Instant>) -> Self {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        Self {
            seconds: left.map_or(POLL, |left| {
                POLL.min(left.as_secs() + u64::from(left.subsec_nanos() > 0))
            }),
            is_last: left.is_some_and(|left| left.is_zero()),
        }
    }
}

async fn ask(
    client: &Client,
    handoff: &HandoffId,
    seconds: u64,
    deadline: Option<Instant>,
) -> Result<Reply<Handoff>, Failure> {
    let client = patient(client, deadline);
    Ok(client.handoffs().get(handoff.as_str(), seconds).await?)
}

/// Returns a client for a command that waits: it survives a restart of the server, but does not outlast the deadline.
pub(super) fn patient(client: &Client, deadline: Option<Instant>) -> Client {
    let away = client.patience().map_or(AWAY, |patience| patience.away);
    client.with_patience(patience(away.max(AWAY), deadline))
}

/// Returns patience that prints what it waits for.
pub(super) fn patience(away: Duration, deadline: Option<Instant>) -> Patience {
    Patience {
        away,
        unusable: UNUSABLE,
        deadline,
        tell: |error, rest| match rest {
            Some(rest) => Ui.notice(format_args!(
                "{error}; waiting for at most {} s",
                rest.as_millis().div_ceil(1000)
            )),
            None => Ui.notice(format_args!("{error}; waiting")),
        },
    }
}

/// Prints the end of the last hand-off: its final message, or the answer of the API with `--json`.
pub(super) fn print_end(
    ui: Ui,
    server: &ServerArguments,
    reply: &Reply<Handoff>,
) -> Result<(), Failure> {
    let handoff = reply.data()?;
    for asked in &handoff.unanswered_handoffs {
        ui.notice(without_answer(&handoff.agent_name, asked));
    }
    if server.json {
        ui.text(&reply.text)?;
        if handoff.outcome == Some(Outcome::Completed) {
            return Ok(());
        }
    }
    let run = handoff.run.as_ref();
    if let Some(run) = run.filter(|run| !run.denied_tools.is_empty()) {
        ui.notice(format_args!(
            "{} was not allowed to use {}",
            handoff.agent_name,
            run.denied_tools.join(", ")
        ));
    }
    if handoff.outcome.is_none() {
        return Err(Failure::timed_out(format!(
            "{} has not finished in time; the hand-off continues",
            handoff.agent_name
        ))
        .with_hint(format!(
            "`chorus task wait {}` waits again",
            handoff.task_id
        )));
    }
    ui.text(&final_message(handoff)?)
}

/// Describes an answer that an agent had asked for and did not get, and names the command for it.
pub(super) fn without_answer(agent: &AgentName, asked: &AskedHandoff) -> String {
    let AskedHandoff {
        agent_name,
        task_id,
        outcome: how,
        ..
    } = asked;
    match how {
        None => format!(
            "{agent} ended without the answer of {agent_name}, which is still working on {task_id}; `chorus task wait {task_id}` waits for it"
        ),
        Some(how) => format!(
            "{agent} ended without the answer of {agent_name} on {task_id} ({}); `chorus task show {task_id}` shows it",
            outcome(*how)
        ),
    }
}

/// Returns the final message of a completed hand-off.
pub(super) fn final_message(handoff: Handoff) -> Result<String, Failure> {
    match handoff.outcome {
        Some(Outcome::Completed) => Ok(handoff.output.into_string()),
        Some(outcome) => Err(Failure::new(format!(
            "{}: {}",
            outcome.as_str(),
            handoff.output
        ))),
        None => Err(Failure::new("the hand-off has not ended")),
    }
}
