//! What an agent is told.
//!
//! In this order: its spec, how to hand off and to whom, the task, the context and the instructions that came with the
//! hand-off, what earlier agents on this task said, the conversation that brought it here, its mail, then the prompt itself.
//! Parts have budgets; what is cut is named, with the command that shows it in full.

use std::fmt::Write as _;

use serde_json::Value;

use super::mail::ToldMail;
use crate::domain::{
    Agent, ChainEntry, Context, Door, HistoryMessage, Kind, Message, MessageType, Outcome, Task,
    Text, Tool, agent_context,
};
use crate::ledger::run::{Briefing, ClaimedRun};
use crate::words;

/// How many bytes of the task's description and plan are told.
const TASK_BUDGET: usize = 64 * 1024;

/// How many bytes of one earlier agent's final message are told.
const MESSAGE_BUDGET: usize = 8 * 1024;

/// How many earlier hand-offs are told.
const EARLIER: usize = 8;

/// How many bytes of one context variable are told.
const VARIABLE_BUDGET: usize = 16 * 1024;

/// How many bytes of the conversation of earlier tasks are told.
const CONVERSATION_BUDGET: usize = 64 * 1024;

/// How many bytes of a conversation that moved are told: as much as every provider takes beside the rest.
const HISTORY_BUDGET: usize = 512 * 1024;

/// Writes what an agent is told beside its spec.
pub(super) fn compose(run: &ClaimedRun, briefing: &Briefing, mail: &ToldMail) -> String {
    let mut text = String::new();
    handing_off(&mut text, run, &briefing.agents);
    leaving_behind(&mut text, &briefing.kinds);
    text.push('\n');
    tools(&mut text, run, &briefing.tools);
    if briefing.history.is_some() {
        session(&mut text, run);
    }
    task(&mut text, &run.task);
    context(&mut text, run);
    carried(&mut text, run);
    earlier(&mut text, run);
    // Whoever the router chose starts fresh: it is told what the task says.
    if run.mode != Door::Route {
        conversation(&mut text, run, briefing);
    }
    if let Some(history) = &briefing.history {
        moved(&mut text, run, &history.messages());
    }
    text.push_str(&mail.text);
    asked(&mut text, run);
    text
}

fn asked(text: &mut String, run: &ClaimedRun) {
    text.push_str("# What you are asked now\n\n");
    if let Some(from) = &run.from_agent {
        let how = match run.mode {
            Door::Transfer => "has passed control to you and is gone",
            Door::Session => "has passed the conversation to you",
            Door::Delegate | Door::Request | Door::Route => {
                "asks you, and waits for your final message"
            }
        };
        push(text, format_args!("The agent {from} {how}.\n"));
    }
    if let Some(reason) = &run.reason {
        let show = format!("chorus task show {} --json", run.task.id);
        let reason = cut(reason, MESSAGE_BUDGET, &show);
        push(text, format_args!("Why: {reason}\n"));
    }
    match run.mode {
        Door::Transfer => text.push_str("The original message:\n"),
        Door::Session => text.push_str("What the user wants:\n"),
        Door::Delegate | Door::Request | Door::Route => {}
    }
    push(text, format_args!("\n{}\n", run.prompt));
}

/// Adds to a text.
pub(super) fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes everything");
}

fn handing_off(text: &mut String, run: &ClaimedRun, agents: &[Agent]) {
    let others: Vec<_> = agents
        .iter()
        .filter(|agent| agent.available)
        .map(|agent| agent.name.as_str())
        .filter(|name| *name != run.identity.agent_name.as_str())
        .collect();
    push(
        text,
        format_args!(
            "# Where you are\n\nYou are the agent {}. You work on the task {} (also in $CHORUS_TASK_ID). Your last message goes back to \
         whoever asked.\n",
            run.identity.agent_name, run.identity.task_id
        ),
    );
    if !others.is_empty() {
        push(
            text,
            format_args!(
                "To ask another agent and wait for its final message: `chorus handoff {} AGENT \"PROMPT\"`. The agents are: {}.\n",
                run.identity.task_id,
                others.join(", ")
            ),
        );
    }
}

fn leaving_behind(text: &mut String, kinds: &[Kind]) {
    if kinds.is_empty() {
        return;
    }
    let kinds: Vec<_> = kinds.iter().map(Kind::as_str).collect();
    push(
        text,
        format_args!(
            "To leave work behind that is not yours to do now, and go on: `chorus request create \"TITLE\" --kind KIND --body \"WHAT AND WHY\"`. \
             A person decides about it. The kinds are: {}.\n",
            kinds.join(", ")
        ),
    );
}

fn tools(text: &mut String, run: &ClaimedRun, tools: &[Tool]) {
    if tools.is_empty() {
        return;
    }
    push(
        text,
        format_args!(
            "# Hand-off tools\n\nTo pass control to another agent for good, call one of these. Your task is then done, the other \
             agent goes on with the variables that you pass and with all that was said, and you end without doing more: \
             `chorus tool call {} TOOL '{{\"VARIABLE\": VALUE}}'`.\n\n",
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
            "# The session\n\nThis conversation is the session {id:?}. To pass it to another agent, and end: \
             `chorus session handoff {id:?} {} AGENT --reason \"WHY\" --intent \"WHAT THE USER WANTS\" --history FILE`, where FILE \
             has all that was said as a JSON array of objects with `role` and `content`.\n\n",
            run.identity.agent_name
        ),
    );
}

fn context(text: &mut String, run: &ClaimedRun) {
    // Who came by another door was not meant by the tool's instructions.
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
        // One line each: a text of several lines is written as JSON.
        let value = match value {
            Value::String(line) if !line.contains(['\n', '\r']) => line.clone(),
            other => other.to_string(),
        };
        let value = cut(&Text::lossy(value), VARIABLE_BUDGET, &show);
        push(text, format_args!("{key}: {value}\n"));
    }
    text.push('\n');
    if let Some(instructions) = context.instructions().filter(|told| !told.is_empty()) {
        push(
            text,
            format_args!("# Instructions for this hand-off\n\n{instructions}\n\n"),
        );
    }
}

/// Tells what whoever worked before left behind, and what is to be done, each as one bounded block.
fn carried(text: &mut String, run: &ClaimedRun) {
    let needs = &run.task.needs;
    for (heading, object) in [
        ("What was done before", &needs.agent_context),
        ("Instructions for this task", &needs.handoff_instructions),
    ] {
        if object.is_empty() {
            continue;
        }
        let told = agent_context::excerpt(object, run.carried_bytes, |cut| {
            words::context_cut(cut, &run.task.id)
        });
        let told = serde_json::to_string(&told).expect("an object is JSON");
        push(
            text,
            format_args!("# {heading}\n\n```json\n{told}\n```\n\n"),
        );
    }
}

/// Tells the newest of some texts that fit, oldest first, and says how many are left out.
fn newest_that_fit(
    text: &mut String,
    parts: impl DoubleEndedIterator<Item = String>,
    budget: usize,
    left_out: impl FnOnce(usize) -> String,
) {
    let (mut told, mut bytes, mut skipped) = (Vec::new(), 0, 0);
    for part in parts.rev() {
        bytes += part.len();
        // The newest is told in any case, and nothing behind a gap.
        if skipped == 0 && (bytes <= budget || told.is_empty()) {
            told.push(part);
        } else {
            skipped += 1;
        }
    }
    if skipped > 0 {
        text.push_str(&left_out(skipped));
    }
    for part in told.iter().rev() {
        text.push_str(part);
    }
}

fn conversation(text: &mut String, run: &ClaimedRun, briefing: &Briefing) {
    if briefing.conversation.is_empty() {
        return;
    }
    text.push_str("# The conversation so far\n\n");
    let show = format!("chorus task conversation {}", run.task.id);
    if briefing.has_more_conversation {
        push(
            text,
            format_args!("[The beginning is left out; `{show}` shows all]\n\n"),
        );
    }
    let said = |message: &Message| {
        let content = cut(&message.content, MESSAGE_BUDGET, &show);
        let by = match (&message.agent_name, message.message_type) {
            (Some(agent), MessageType::Handoff) => format!("({agent})"),
            (Some(agent), _) => format!("{agent}:"),
            (None, _) => "user:".to_owned(),
        };
        format!("{by} {content}\n\n")
    };
    let parts = briefing.conversation.iter().map(said);
    newest_that_fit(text, parts, CONVERSATION_BUDGET, |messages| {
        format!("[{messages} earlier messages are left out; `{show}` shows all]\n\n")
    });
}

fn moved(text: &mut String, run: &ClaimedRun, history: &[HistoryMessage]) {
    if history.is_empty() {
        return;
    }
    text.push_str("# The conversation so far\n\n");
    let session = run.task.session_id.as_ref().map_or("", |id| id.as_str());
    let show = format!("chorus session show {session:?} --json");
    let said = |message: &HistoryMessage| {
        let agent = message.agent_id.as_deref();
        let agent = agent.map_or_else(String::new, |agent| format!(" ({agent})"));
        let content = cut(&Text::lossy(message.content.clone()), HISTORY_BUDGET, &show);
        format!("{}{agent}: {content}\n\n", message.role)
    };
    newest_that_fit(text, history.iter().map(said), HISTORY_BUDGET, |messages| {
        format!("[{messages} earlier messages are left out; `{show}` has all]\n\n")
    });
}

fn task(text: &mut String, task: &Task) {
    let show = format!("chorus task show {}", task.id);
    push(
        text,
        format_args!(
            "# The task\n\n{}\n",
            cut(&task.description, TASK_BUDGET, &show)
        ),
    );
    if let Some(planning) = &task.planning {
        push(
            text,
            format_args!(
                "\n## Summary\n\n{}\n",
                cut(&planning.summary, TASK_BUDGET, &show)
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
                    format_args!("- {}\n", cut(item, MESSAGE_BUDGET, &show)),
                );
            }
        }
    }
    text.push('\n');
}

fn earlier(text: &mut String, run: &ClaimedRun) {
    let ended: Vec<&ChainEntry> = run
        .task
        .agent_chain()
        .iter()
        .filter(|entry| !entry.is_open())
        .collect();
    if ended.is_empty() {
        return;
    }
    text.push_str("# What earlier agents on this task said\n\n");
    let left_out = ended.len().saturating_sub(EARLIER);
    if left_out > 0 {
        push(
            text,
            format_args!(
                "[{left_out} earlier hand-offs are left out; `chorus task show {}` lists them]\n\n",
                run.task.id
            ),
        );
    }
    for entry in &ended[left_out..] {
        let Some(end) = &entry.end else { continue };
        let show = format!("curl $CHORUS_URL/api/handoffs/{}", entry.id);
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
                cut(&end.output, MESSAGE_BUDGET, &show)
            ),
        );
    }
}

/// Cuts a text to its budget and names the command that shows the rest.
fn cut(text: &Text, budget: usize, show: &str) -> String {
    let beginning = text.beginning(budget);
    if beginning == *text {
        return text.to_string();
    }
    format!(
        "{beginning}\n[cut after {budget} of {} bytes; `{show}` shows it in full]",
        text.as_str().len()
    )
}
