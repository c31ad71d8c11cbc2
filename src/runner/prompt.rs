//! What an agent is told.
//!
//! In this order: its spec, how to hand off and to whom, the task, what earlier agents on this task said, then the
//! prompt itself. Parts have budgets; what is cut is named, with the command that shows it in full.

use std::fmt::Write as _;

use crate::domain::{Agent, ChainEntry, Outcome, Task, Text};
use crate::store::ClaimedRun;

/// How many bytes of the task's description and plan are told.
const TASK_BUDGET: usize = 64 * 1024;

/// How many bytes of one earlier agent's final message are told.
const MESSAGE_BUDGET: usize = 8 * 1024;

/// How many earlier hand-offs are told.
const EARLIER: usize = 8;

/// Writes what an agent is told beside its spec.
pub(super) fn compose(run: &ClaimedRun, agents: &[Agent]) -> String {
    let mut text = String::new();
    handing_off(&mut text, run, agents);
    task(&mut text, &run.task);
    earlier(&mut text, run);
    text.push_str("# What you are asked now\n\n");
    if let Some(from) = &run.from_agent {
        push(
            &mut text,
            format_args!("The agent {from} asks you, and waits for your final message.\n"),
        );
    }
    if let Some(reason) = &run.reason {
        push(&mut text, format_args!("Why: {reason}\n"));
    }
    push(&mut text, format_args!("\n{}\n", run.prompt));
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes everything");
}

fn handing_off(text: &mut String, run: &ClaimedRun, agents: &[Agent]) {
    let others: Vec<_> = agents
        .iter()
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
    text.push('\n');
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
