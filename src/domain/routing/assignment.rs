//! Assignments: the prompt for an agent that the router has chosen.

use serde_json::Value;

use crate::domain::{Role, Task, Text};

/// Writes the prompt. The description and the context are added from the task.
pub fn assignment(task: &Task) -> Text {
    let mut lines = vec![match &task.needs.agent_role {
        Some(role) => {
            format!("Your role on this task is {role}. Do only the work of this role.")
        }
        None => "Do this task.".to_owned(),
    }];
    if task
        .needs
        .agent_role
        .as_ref()
        .is_some_and(Role::evaluates_work)
        && let Some(Value::String(command)) = task.needs.handoff_instructions.get("testCommand")
    {
        lines.push(format!("Run the test: {command}"));
    }
    if let Some(minutes) = task.needs.estimated_duration {
        let unit = if minutes.get() == 1 {
            "minute"
        } else {
            "minutes"
        };
        lines.push(format!("Finish within about {minutes} {unit}."));
    }
    let end = if task.wants_report() {
        "End"
    } else {
        "You may end"
    };
    lines.push(format!(
        "{end} your last message with a report, one JSON object: {{\"result\": \"passed\", \"summary\": \"one sentence\", \
         \"details\": \"information for the next agent\"}}. Set `result` to `passed`, `failed` (the work is not as required) or \
         `blocked` (the operator must help). Instead of the JSON object, you can run `chorus task report passed --summary \"one sentence\"`. \
         To set the context of the next agent, add `agentContext` to the report: {{\"workCompleted\": \"…\", \"filesModified\": [\"…\"], \
         \"knownIssues\": [\"…\"]}}."
    ));
    Text::lossy(lines.join("\n"))
}
