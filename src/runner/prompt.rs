//! The prompt of a run.
//!
//! Its parts, in order: the agent's spec, the commands and agents at hand, the task, context and instructions of the hand-off, final
//! messages of earlier agents on the task, the conversation, mail, and the assignment itself. Each part has a byte budget. A part
//! over its budget is truncated and names the command that shows all of it.

use std::fmt::Write as _;

use serde_json::Value;

use super::mail::DeliveredMail;
use crate::domain::{
    ChainEntry, Context, Door, HistoryMessage, Kind, Message, MessageType, Outcome, RunIdentity,
    Task, Text, Tool, agent_context,
};
use crate::ledger::run::{Briefing, ClaimedRun};
use crate::words;

const TASK_BUDGET: usize = 64 * 1024;

/// Applies to each final message and each line of the conversation.
const MESSAGE_BUDGET: usize = 8 * 1024;
const EARLIER_HANDOFFS: usize = 8;
const VARIABLE_BUDGET: usize = 16 * 1024;
const CONVERSATION_BUDGET: usize = 64 * 1024;
/// The history of a session: as much as every provider accepts beside the rest.
const HISTORY_BUDGET: usize = 512 * 1024;

/// Writes the prompt without the agent's spec, which each provider passes in its own way.
pub(super) fn compose(run: &ClaimedRun, briefing: &Briefing, mail: &DeliveredMail) -> String {
    let mut text = String::new();
    surroundings(&mut text, run, briefing);
    tools(&mut text, run, &briefing.tools);
    if briefing.history.is_some() {
        session(&mut text, run);
    }
    task(&mut text, &run.task);
    context(&mut text, run);
    earlier_work(&mut text, run);
    earlier_results(&mut text, run);
    // An agent that the router chose starts fresh, from the task alone.
    if run.mode != Door::Route {
        conversation(&mut text, run, briefing);
    }
    if let Some(history) = &briefing.history {
        session_history(&mut text, run, &history.messages());
    }
    text.push_str(&mail.text);
    assignment(&mut text, run);
    text
}

fn assignment(text: &mut String, run: &ClaimedRun) {
    text.push_str("# Your assignment\n\n");
    let before = text.len();
    if let Some(from) = &run.from_agent {
        let how = match run.mode {
            Door::Transfer => "transferred this task to you and has stopped",
            Door::Session => "moved this conversation to you",
            Door::Delegate | Door::Request | Door::Route => {
                "asks you and waits for your final message"
            }
        };
        push(text, format_args!("The agent {from} {how}.\n"));
    }
    if let Some(reason) = &run.reason {
        let show = format!("chorus task show {} --json", run.task.id);
        let reason = truncate(reason, MESSAGE_BUDGET, &show);
        push(text, format_args!("Reason: {reason}\n"));
    }
    match run.mode {
        Door::Transfer => text.push_str("Original message:\n"),
        Door::Session => text.push_str("User intent:\n"),
        Door::Delegate | Door::Request | Door::Route => {}
    }
    if text.len() > before {
        text.push('\n');
    }
    push(text, format_args!("{}\n", run.prompt));
}

pub(super) fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes everything");
}

/// Names the agent, the task, and the commands that reach other agents and people.
fn surroundings(text: &mut String, run: &ClaimedRun, briefing: &Briefing) {
    let RunIdentity {
        agent_name,
        task_id,
        ..
    } = &run.identity;
    push(
        text,
        format_args!(
            "# Working in Chorus\n\nYou are the agent {agent_name}. You are working on task {task_id}; the id is also in $CHORUS_TASK_ID.\n\
             Chorus returns your final message to the caller. Put the complete result into your final message.\n"
        ),
    );
    let others: Vec<_> = briefing
        .agents
        .iter()
        .filter(|agent| agent.available && agent.name != *agent_name)
        .map(|agent| agent.name.as_str())
        .collect();
    if !others.is_empty() {
        push(
            text,
            format_args!(
                "- To ask another agent and wait for its final message, run `chorus handoff {task_id} AGENT \"PROMPT\"`. Agents: {}.\n",
                others.join(", ")
            ),
        );
        text.push_str(
            "- If something stops `chorus handoff` before the answer is there, run the same command again. It waits for the same answer.\n",
        );
    }
    let kinds: Vec<_> = briefing.kinds.iter().map(Kind::as_str).collect();
    if !kinds.is_empty() {
        push(
            text,
            format_args!(
                "- To leave work for later, run `chorus request create \"TITLE\" --kind KIND --body \"WHAT AND WHY\"` and continue. \
                 The operator decides about the request. Kinds: {}.\n",
                kinds.join(", ")
            ),
        );
    }
    text.push('\n');
}

fn tools(text: &mut String, run: &ClaimedRun, tools: &[Tool]) {
    if tools.is_empty() {
        return;
    }
    push(
        text,
        format_args!(
            "# Hand-off tools\n\nTo transfer your task to another agent for good, run \
             `chorus tool call {} TOOL '{{\"VARIABLE\": VALUE}}'`.\nThe call completes your task. The other agent continues with your \
             variables and the whole conversation. Stop right after the call.\n\n",
            run.identity.task_id
        ),
    );
    for tool in tools {
        push(
            text,
            format_args!("- `{}`: {}\n", tool.name, tool.description),
        );
        for variable in &tool.context_variables {
            let need = if variable.required {
                "required"
            } else {
                "optional"
            };
            let description = variable.description.as_str();
            let separator = if description.is_empty() { "" } else { ": " };
            push(
                text,
                format_args!(
                    "  - {} ({}, {need}){separator}{description}\n",
                    variable.name,
                    variable.variable_type.as_str()
                ),
            );
        }
    }
    text.push('\n');
}

fn session(text: &mut String, run: &ClaimedRun) {
    let id = run.task.session_id.as_ref().map_or("", |id| id.as_str());
    push(
        text,
        format_args!(
            "# Session\n\nThis conversation is session {id:?}. To move it to another agent, write the whole conversation to a file as a \
             JSON array of objects with `role` and `content`, run \
             `chorus session handoff {id:?} {} AGENT --reason \"WHY\" --intent \"WHAT THE USER WANTS\" --history FILE`, and stop.\n\n",
            run.identity.agent_name
        ),
    );
}

fn context(text: &mut String, run: &ClaimedRun) {
    // The instructions of a tool are meant for the agent that the tool called.
    let context = match run.mode {
        Door::Transfer => run.task.context.clone(),
        _ => run.task.context.without_metadata(),
    };
    if context.0.is_empty() {
        return;
    }
    let show = format!("chorus task show {} --json", run.task.id);
    text.push_str("# Context from handoff\n\n");
    for (key, value) in &context.0 {
        if key == Context::INSTRUCTIONS {
            continue;
        }
        // One line per variable: a text of several lines is written as JSON.
        let value = match value {
            Value::String(line) if !line.contains(['\n', '\r']) => line.clone(),
            other => other.to_string(),
        };
        let value = truncate(&Text::lossy(value), VARIABLE_BUDGET, &show);
        push(text, format_args!("{key}: {value}\n"));
    }
    text.push('\n');
    if let Some(instructions) = context.instructions().filter(|text| !text.is_empty()) {
        push(
            text,
            format_args!("# Instructions for this hand-off\n\n{instructions}\n\n"),
        );
    }
}

/// Writes the context that earlier tasks passed on and the instructions of this one, each as one bounded block.
fn earlier_work(text: &mut String, run: &ClaimedRun) {
    let needs = &run.task.needs;
    for (heading, object) in [
        ("Context from earlier work", &needs.agent_context),
        ("Instructions for this task", &needs.handoff_instructions),
    ] {
        if object.is_empty() {
            continue;
        }
        let shown = agent_context::excerpt(object, run.carried_bytes, |cut| {
            words::context_cut(cut, &run.task.id)
        });
        let shown = serde_json::to_string(&shown).expect("an object is JSON");
        push(
            text,
            format_args!("# {heading}\n\n```json\n{shown}\n```\n\n"),
        );
    }
}

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

fn conversation(text: &mut String, run: &ClaimedRun, briefing: &Briefing) {
    if briefing.conversation.is_empty() {
        return;
    }
    text.push_str("# Conversation so far\n\n");
    let show = format!("chorus task conversation {}", run.task.id);
    if briefing.has_more_conversation {
        push(
            text,
            format_args!("[The beginning is omitted; `{show}` shows all]\n\n"),
        );
    }
    let said = |message: &Message| {
        let content = truncate(&message.content, MESSAGE_BUDGET, &show);
        let by = match (&message.agent_name, message.message_type) {
            (Some(agent), MessageType::Handoff) => format!("({agent})"),
            (Some(agent), _) => format!("{agent}:"),
            (None, _) => "user:".to_owned(),
        };
        format!("{by} {content}\n\n")
    };
    let parts = briefing.conversation.iter().map(said);
    newest_that_fit(text, parts, CONVERSATION_BUDGET, &show);
}

fn session_history(text: &mut String, run: &ClaimedRun, history: &[HistoryMessage]) {
    if history.is_empty() {
        return;
    }
    text.push_str("# Conversation so far\n\n");
    let session = run.task.session_id.as_ref().map_or("", |id| id.as_str());
    let show = format!("chorus session show {session:?} --json");
    let said = |message: &HistoryMessage| {
        let agent = message.agent_id.as_deref();
        let agent = agent.map_or_else(String::new, |agent| format!(" ({agent})"));
        let content = truncate(&Text::lossy(message.content.clone()), HISTORY_BUDGET, &show);
        format!("{}{agent}: {content}\n\n", message.role)
    };
    newest_that_fit(text, history.iter().map(said), HISTORY_BUDGET, &show);
}

fn task(text: &mut String, task: &Task) {
    let show = format!("chorus task show {}", task.id);
    push(
        text,
        format_args!(
            "# The task\n\n{}\n",
            truncate(&task.description, TASK_BUDGET, &show)
        ),
    );
    if let Some(planning) = &task.planning {
        push(
            text,
            format_args!(
                "\n## Summary\n\n{}\n",
                truncate(&planning.summary, TASK_BUDGET, &show)
            ),
        );
        for (heading, items) in [
            ("Requirements", &planning.requirements),
            ("Acceptance criteria", &planning.acceptance_criteria),
            ("Plan", &planning.plan),
        ] {
            if items.is_empty() {
                continue;
            }
            push(text, format_args!("\n## {heading}\n\n"));
            for item in items {
                push(
                    text,
                    format_args!("- {}\n", truncate(item, MESSAGE_BUDGET, &show)),
                );
            }
        }
    }
    text.push('\n');
}

fn earlier_results(text: &mut String, run: &ClaimedRun) {
    let ended: Vec<&ChainEntry> = run
        .task
        .agent_chain()
        .iter()
        .filter(|entry| !entry.is_open())
        .collect();
    if ended.is_empty() {
        return;
    }
    text.push_str("# Results of earlier agents on this task\n\n");
    let left_out = ended.len().saturating_sub(EARLIER_HANDOFFS);
    if left_out > 0 {
        let omitted = words::counted(left_out, "earlier hand-off");
        push(
            text,
            format_args!(
                "[{omitted} omitted; `chorus task show {}` lists all]\n\n",
                run.task.id
            ),
        );
    }
    let show = format!("chorus task show {} --json", run.task.id);
    for entry in &ended[left_out..] {
        let Some(end) = &entry.end else { continue };
        let how = if end.outcome == Outcome::Completed {
            String::new()
        } else {
            format!(" ({})", end.outcome.as_str())
        };
        push(
            text,
            format_args!(
                "## {}{how}\n\n{}\n\n",
                entry.agent_name,
                truncate(&end.output, MESSAGE_BUDGET, &show)
            ),
        );
    }
}

/// Truncates a text to its budget and names the command that shows all of it.
fn truncate(text: &Text, budget: usize, show: &str) -> String {
    let beginning = text.beginning(budget);
    if beginning == *text {
        return text.to_string();
    }
    format!(
        "{beginning}\n[truncated to {budget} of {} bytes; `{show}` shows all]",
        text.as_str().len()
    )
}
