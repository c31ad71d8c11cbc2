//! The parts of a prompt that quote what others said before: results, conversations and the queue.

use super::{push, quote_within};
use crate::domain::{Door, HistoryMessage, Message, MessageType, Outcome};
use crate::ledger::run::{Briefing, ClaimedRun};
use crate::ledger::task::DeliveredQueue;
use crate::words;

/// Applies to each final message, each line of a conversation and each queued message.
const MESSAGE_BUDGET: usize = 8 * 1024;
const CONVERSATION_BUDGET: usize = 64 * 1024;
/// The history of a session: as much as every provider accepts beside the rest.
const HISTORY_BUDGET: usize = 512 * 1024;

/// Writes the newest messages that fit the budget, oldest first, after a note on the number of omitted ones.
fn newest_that_fit(
    text: &mut String,
    messages: impl DoubleEndedIterator<Item = String>,
    budget: usize,
    show: &str,
) {
    let (mut kept, mut bytes, mut omitted) = (Vec::new(), 0, 0);
    for message in messages.rev() {
        bytes += message.len();
        // The newest message is always kept, and none older than an omitted one.
        if omitted == 0 && (bytes <= budget || kept.is_empty()) {
            kept.push(message);
        } else {
            omitted += 1;
        }
    }
    if omitted > 0 {
        let omitted = words::counted(omitted, "earlier message");
        push(
            text,
            format_args!("[{omitted} omitted; `{show}` shows all]\n\n"),
        );
    }
    for part in kept.iter().rev() {
        text.push_str(part);
    }
}

/// Writes the final messages of the agents that worked on the same work before.
pub(super) fn results(text: &mut String, run: &ClaimedRun, briefing: &Briefing) {
    if briefing.results.is_empty() {
        return;
    }
    text.push_str("# Results of earlier agents on this work\n\n");
    if briefing.has_more_results {
        push(
            text,
            format_args!(
                "[Earlier hand-offs omitted; `chorus task tree {}` lists all]\n\n",
                run.task.id
            ),
        );
    }
    for result in &briefing.results {
        let how = if result.outcome == Outcome::Completed {
            String::new()
        } else {
            format!(" ({})", result.outcome.as_str())
        };
        let show = format!("chorus task show {} --json", result.task_id);
        push(
            text,
            format_args!(
                "## {}{how}\n\n{}\n",
                result.agent_name,
                quote_within(result.output.as_str(), MESSAGE_BUDGET, &show)
            ),
        );
    }
}

pub(super) fn conversation(
    text: &mut String,
    run: &ClaimedRun,
    briefing: &Briefing,
    is_resumed: bool,
) {
    // An agent that the router chose starts fresh, from the task alone.
    if briefing.conversation.is_empty() || run.mode == Door::Route {
        return;
    }
    text.push_str("# Conversation so far\n\nThese messages were written on ");
    text.push_str(if run.is_chat {
        "your task and those above it"
    } else {
        "the tasks above yours"
    });
    text.push_str(if is_resumed {
        " since your last run.\n\n"
    } else {
        ".\n\n"
    });
    let show = format!("chorus task conversation {}", run.task.id);
    if briefing.has_more_conversation {
        push(
            text,
            format_args!("[The beginning is omitted; `{show}` shows all]\n\n"),
        );
    }
    let said = |message: &Message| {
        let content = quote_within(message.content.as_str(), MESSAGE_BUDGET, &show);
        let by = match (&message.agent_name, message.message_type) {
            (Some(agent), MessageType::Handoff) => format!("{agent} (hand-off)"),
            (Some(agent), _) => agent.to_string(),
            (None, _) => "user".to_owned(),
        };
        format!("{by}:\n{content}\n")
    };
    let parts = briefing.conversation.iter().map(said);
    newest_that_fit(text, parts, CONVERSATION_BUDGET, &show);
}

pub(super) fn session_history(text: &mut String, run: &ClaimedRun, history: &[HistoryMessage]) {
    if history.is_empty() {
        return;
    }
    text.push_str("# Conversation so far\n\n");
    let session = run.task.session_id.as_ref().map_or("", |id| id.as_str());
    let show = format!("chorus session show {session:?} --json");
    let said = |message: &HistoryMessage| {
        let agent = message.agent_id.as_deref();
        let agent = agent.map_or_else(String::new, |agent| format!(" ({})", one_line(agent)));
        let content = quote_within(&message.content.to_text(), HISTORY_BUDGET, &show);
        format!("{}{agent}:\n{content}\n", one_line(&message.role))
    };
    newest_that_fit(text, history.iter().map(said), HISTORY_BUDGET, &show);
}

/// Returns a name that a caller chose as one line.
fn one_line(name: &str) -> String {
    let is_odd = |character: char| character.is_control() || character.is_whitespace();
    name.replace(is_odd, " ")
}

/// Writes the messages that were queued for this agent.
pub(super) fn queue(text: &mut String, run: &ClaimedRun, queue: &DeliveredQueue) {
    if queue.messages.is_empty() {
        return;
    }
    text.push_str(
        "# Messages for you\n\nThese messages arrived while no agent worked on the task. Take them into account in your assignment.\n\n",
    );
    let show = format!("chorus task queue {}", run.task.id);
    for message in &queue.messages {
        let content = quote_within(message.content.as_str(), MESSAGE_BUDGET, &show);
        push(text, format_args!("{content}\n"));
    }
    if queue.has_more {
        push(
            text,
            format_args!("[More messages wait for the next agent; `{show}` lists all]\n\n"),
        );
    }
}
