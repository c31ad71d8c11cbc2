//! Assignments: the prompt for an agent that the router has chosen.

use serde_json::Value;

use crate::domain::{Role, Task, Text};

/// Writes what an agent is asked that the router has chosen. What it must know stands in the task.
pub fn assignment(task: &Task) -> Text {
    let mut lines = vec![match &task.needs.agent_role {
        Some(role) => format!("Do the part of {role} on this task, and only that."),
        None => "Do this task.".to_owned(),
    }];
    if task.needs.agent_role.as_ref().is_some_and(Role::judges)
        && let Some(Value::String(command)) = task.needs.handoff_instructions.get("testCommand")
    {
        lines.push(format!("Run the test: {command}"));
    }
    if let Some(minutes) = task.needs.estimated_duration {
        lines.push(format!("It should take about {minutes} minutes."));
    }
    let must = if task.wants_report() { "must" } else { "may" };
    lines.push(format!(
        "Your last message {must} end with a report, one JSON object: {{\"result\": \"passed\", \"summary\": \"one sentence\", \"details\": \
         \"what whoever goes on must know\"}}. The result is passed, failed (it is not as it should be) or blocked (a person must help). \
         `chorus report passed --summary \"one sentence\"` says the same. What the next agent should know beside goes into the report \
         as `agentContext`: {{\"workCompleted\": \"…\", \"filesModified\": [\"…\"], \"knownIssues\": [\"…\"]}}."
    ));
    Text::lossy(lines.join("\n"))
}
