//! The agent context of a task after a hand-off.

use serde_json::{Map, Value};

use crate::domain::{AgentName, Report, ReportResult, Role, Text};

/// The limit of `workCompleted` taken from a summary or a final message, in bytes.
const WORK: usize = 1000;

/// The limit of `workDetails` taken from a report, in bytes.
const DETAILS: usize = 4000;

/// Returns the context with the previous agent, its work and its result added.
pub fn after_handoff(
    context: &Map<String, Value>,
    agent_name: &AgentName,
    role: Option<&Role>,
    report: Option<&Report>,
    // `None` if the agent itself has set `workCompleted`.
    output: Option<&Text>,
) -> Map<String, Value> {
    let mut after = context.clone();
    let summary = report
        .map(|report| &report.summary)
        .filter(|summary| !summary.is_blank());
    if let Some(work) = summary.or(output).filter(|_| output.is_some()) {
        let work = Text::lossy(work.as_str().trim().to_owned()).beginning(WORK);
        after.insert("workCompleted".to_owned(), work.into_string().into());
    }
    let is_pass = report.is_none_or(|report| report.result == ReportResult::Passed);
    // The details of a failure are among its issues.
    match report.and_then(|report| report.details.as_ref()) {
        Some(details) if is_pass => {
            after.insert("workDetails".to_owned(), bounded(details));
        }
        _ if report.is_some() => drop(after.remove("workDetails")),
        _ => {}
    }
    if role.is_some_and(Role::produces_work) {
        after.insert("testStatus".to_owned(), "pending".into());
    }
    if let (Some(report), true) = (report, role.is_some_and(Role::evaluates_work)) {
        after.insert("testStatus".to_owned(), report.result.as_str().into());
        let issues = match report.result {
            ReportResult::Passed => Vec::new(),
            ReportResult::Failed | ReportResult::Blocked => report.issues(),
        };
        after.insert("knownIssues".to_owned(), issues.into());
    }
    if let Some(reported) = report.and_then(|report| report.agent_context.as_ref()) {
        after.extend(reported.clone());
    }
    // Last, so that an agent cannot name another one as the previous agent.
    after.insert("previousAgent".to_owned(), agent_name.as_str().into());
    after
}

/// Returns details that are short as they are, and the beginning of others as text.
fn bounded(details: &Value) -> Value {
    let text = match details {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= DETAILS {
        return details.clone();
    }
    Text::lossy(text).beginning(DETAILS).into_string().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_handoff_adds_its_result() {
        let agent = AgentName::parse("tess").unwrap();
        let testing = Role::parse("testing").unwrap();
        let report: Report = serde_json::from_value(
            json!({ "result": "failed", "summary": "Two of nine fail", "details": { "log": "boom" } }),
        )
        .unwrap();
        let output: Text = "I ran it".parse().unwrap();
        let before = map(json!({ "filesModified": ["a.rs"], "workCompleted": "Wrote it" }));
        let after = after_handoff(
            &before,
            &agent,
            Some(&testing),
            Some(&report),
            Some(&output),
        );
        assert_eq!(
            Value::Object(after),
            json!({
                "filesModified": ["a.rs"], "workCompleted": "Two of nine fail", "previousAgent": "tess",
                "testStatus": "failed", "knownIssues": ["Two of nine fail", "{\"log\":\"boom\"}"],
            })
        );
        let passed = Report {
            result: ReportResult::Passed,
            ..report
        };
        let after = after_handoff(
            &before,
            &agent,
            Some(&testing),
            Some(&passed),
            Some(&output),
        );
        assert_eq!(after["workDetails"], json!({ "log": "boom" }));
        let silent = Report {
            details: None,
            ..passed
        };
        let after = after_handoff(&after, &agent, Some(&testing), Some(&silent), Some(&output));
        assert_eq!(after.get("workDetails"), None);
        let long = Report {
            details: Some("é".repeat(DETAILS).into()),
            ..silent
        };
        let after = after_handoff(&after, &agent, Some(&testing), Some(&long), Some(&output));
        assert!(after["workDetails"].as_str().unwrap().len() <= DETAILS + '…'.len_utf8());
        let maker = Role::parse("fixing").unwrap();
        let own = after_handoff(&before, &agent, Some(&maker), None, None);
        assert_eq!(own["workCompleted"], "Wrote it");
        assert_eq!(own["testStatus"], "pending");
    }
}
