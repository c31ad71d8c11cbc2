//! Assignments: the prompt for an agent that the router has chosen.

use serde_json::Value;

use crate::domain::{Role, Task, Text};

/// How to report, for every role.
const REPORT: [&str; 3] = [
    "End your final message with your report, one JSON object: {\"result\": \"passed\", \"summary\": \"ONE SENTENCE\", \
     \"details\": \"INFORMATION FOR THE NEXT AGENT\"}.",
    "Set `result` to `passed` if the work is as required, to `failed` if it is not, or to `blocked` if the operator must help.",
    "To report before the end, run `chorus task report RESULT --summary \"ONE SENTENCE\" --details \"INFORMATION FOR THE NEXT AGENT\"` \
     instead.",
];

/// How to set the context of the next agent.
const CONTEXT: &str = "Add to the report: \"agentContext\": {\"workCompleted\": \"WHAT YOU DID\", \"filesModified\": [\"PATH\"], \
     \"knownIssues\": [\"ISSUE\"]}.";

/// Writes the prompt. The description and the context are added from the task.
pub fn assignment(task: &Task) -> Text {
    let mut lines = vec![match &task.needs.agent_role {
        Some(role) => {
            format!("Do the work of the role {role} on the task above. Do nothing else.")
        }
        None => "Do the task above.".to_owned(),
    }];
    let role = task.needs.agent_role.as_ref();
    let evaluates = role.is_some_and(Role::evaluates_work);
    if evaluates
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
    lines.extend(REPORT.map(str::to_owned));
    if evaluates {
        lines.push(
            "If the result is `failed`, describe each failure in `details`: the command, the expected result and the actual result."
                .to_owned(),
        );
    } else {
        lines.push(CONTEXT.to_owned());
    }
    Text::lossy(lines.join("\n"))
}
