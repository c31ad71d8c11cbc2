//! Reports: the results that agents send or write at the end of a message.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{Problems, Text, agent_context};

/// The bytes at the end of a final message that are searched for a report.
const TAIL: usize = 64 * 1024;

/// The number of opening braces that are tried.
const TRIES: usize = 500;

/// The limit of an issue in bytes.
const ISSUE: usize = 1000;

/// The limit of issues passed to the next agent.
const ISSUES: usize = 50;

/// The result of an agent's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "result": "failed", "summary": "2 of 9 tests fail", "details": "test_parse, test_print" }))]
pub struct Report {
    /// The result.
    pub result: ReportResult,
    /// A summary in one sentence.
    #[serde(default)]
    #[schema(value_type = String)]
    pub summary: Text,
    /// Details for the next agent: any JSON value.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    pub details: Option<Value>,
    /// Keys to add to the `agentContext` of the task, for the next agent.
    #[serde(
        default,
        alias = "agent_context",
        deserialize_with = "agent_context::optional_in_either_spelling",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub agent_context: Option<Map<String, Value>>,
}

wire_enum! {
    /// The result that an agent reports.
    pub enum ReportResult {
        /// The work is as required.
        Passed = "passed",
        /// The work is not as required.
        Failed = "failed",
        /// The agent cannot decide or continue without the operator.
        Blocked = "blocked",
    }
}

impl Report {
    /// The prompt for an agent whose final message had no report.
    pub const QUESTION: &'static str = "Your last message did not end with a report, so the result of your work is unknown. Do not start \
         over. Report now. End your message with one JSON object: {\"result\": \"passed\", \"summary\": \"ONE SENTENCE\", \
         \"details\": \"INFORMATION FOR THE NEXT AGENT\"}. Set `result` to `passed`, `failed` or `blocked`. Write nothing after the \
         object.";

    /// Finds a report at the end of a final message, and returns it with the text before it.
    pub fn find_at_end(message: &str) -> Option<(Self, &str)> {
        let message = message.trim_end();
        let message = message.strip_suffix("```").unwrap_or(message).trim_end();
        if !message.ends_with('}') {
            return None;
        }
        let tail = (message.len().saturating_sub(TAIL)..message.len())
            .find(|start| message.is_char_boundary(*start))?;
        let beginnings = message[tail..].rmatch_indices('{').take(TRIES);
        for (start, _) in beginnings {
            let written = serde_json::from_str::<Map<String, Value>>(&message[tail + start..]);
            if let Some(report) = written.ok().and_then(Self::from_lenient_json) {
                let before = message[..tail + start].trim_end();
                let before = before.strip_suffix("```json").unwrap_or(before);
                let before = before.strip_suffix("```").unwrap_or(before);
                return Some((report, before.trim_end()));
            }
        }
        None
    }

    /// Converts fields of the wrong type; only `result` must be valid.
    fn from_lenient_json(mut written: Map<String, Value>) -> Option<Self> {
        let result = written.get("result")?.as_str()?.to_ascii_lowercase();
        let summary = match written.remove("summary") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(summary)) => summary,
            Some(other) => other.to_string(),
        };
        let context = written.remove("agentContext");
        let context = context.or_else(|| written.remove("agent_context"));
        Some(Self {
            result: ReportResult::parse(&result)?,
            summary: Text::lossy(summary),
            details: written
                .remove("details")
                .filter(|details| !details.is_null()),
            agent_context: context.and_then(|context| match context {
                Value::Object(context) => agent_context::canonical(context).ok(),
                _ => None,
            }),
        })
    }

    pub fn check(&self, largest_object: usize) -> Result<(), Problems> {
        let mut problems = Problems::default();
        if let Some(context) = &self.agent_context {
            agent_context::check_context(context, largest_object, &mut problems);
        }
        if self
            .details
            .as_ref()
            .is_some_and(agent_context::is_too_deep)
        {
            problems.add("details", agent_context::TOO_DEEP);
        }
        problems.into_result(|| ())
    }

    /// Removes parts that cannot be stored, because a report in a message is unchecked.
    #[must_use]
    pub fn without_illegal_parts(mut self) -> Self {
        if self.check(agent_context::LARGEST).is_err() {
            self.agent_context = None;
        }
        if let Some(details) = self
            .details
            .take_if(|details| agent_context::is_too_deep(details))
        {
            self.details = Some(Value::String(details.to_string()));
        }
        self
    }

    /// Lists the issues that the next agent must fix.
    pub fn issues(&self) -> Vec<String> {
        let to_text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let details = match &self.details {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(to_text).collect(),
            Some(other) => vec![to_text(other)],
        };
        std::iter::once(self.summary.as_str().to_owned())
            .chain(details)
            .take(ISSUES)
            .filter(|issue| !issue.trim().is_empty())
            .map(|issue| Text::lossy(issue).beginning(ISSUE).into_string())
            .collect()
    }

    pub fn summary_or_result(&self) -> Text {
        if self.summary.is_blank() {
            Text::lossy(format!("The agent reported: {}", self.result.as_str()))
        } else {
            self.summary.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(message: &str) -> Option<(&'static str, String, String)> {
        Report::find_at_end(message).map(|(report, before)| {
            (
                report.result.as_str(),
                report.summary.to_string(),
                before.to_owned(),
            )
        })
    }

    #[test]
    fn a_report_is_found_at_the_end() {
        for message in [
            r#"All is well. {"result":"passed","summary":"s"}"#,
            "All is well.\n\n```json\n{\"result\": \"passed\",\n \"summary\": \"s\"}\n```\n",
            "All is well.\n```\n{\"result\":\"passed\",\"summary\":\"s\"}\n```",
            r#"All is well. {"result":"passed","summary":"s","details":{"result":"failed","x":[{}]},"more":1}  "#,
        ] {
            let expected = ("passed", "s".to_owned(), "All is well.".to_owned());
            assert_eq!(found(message), Some(expected), "{message}");
        }
        let odd = found(r#"{"result":"FAILED","summary":5,"agentContext":[1],"details":null}"#);
        assert_eq!(odd, Some(("failed", "5".to_owned(), String::new())));
        let bare = found(r#"{"result":"blocked"}"#);
        assert_eq!(bare, Some(("blocked", String::new(), String::new())));
    }

    #[test]
    fn text_after_a_report_or_an_invalid_report_is_none() {
        for message in [
            "",
            "passed",
            "{}",
            "}",
            r#"{"result":"passed"} and more"#,
            r#"{"result":"maybe","summary":"s"}"#,
            r#"{"result":"passed""#,
            r#"["result","passed"}"#,
            r#"{"outer":{"result":"passed"}}"#,
            "```json\n[]\n```",
        ] {
            assert_eq!(found(message), None, "{message}");
        }
    }

    #[test]
    fn a_hostile_message_is_read_quickly() {
        let open = "{".repeat(1_000_000) + "}";
        assert_eq!(found(&open), None);
        let nested = r#"{"a":"#.repeat(20_000) + "1" + &"}".repeat(20_000);
        assert_eq!(found(&nested), None);
        let wide = "é".repeat(100_000) + r#"{"result":"passed"}"#;
        assert_eq!(found(&wide).map(|(result, ..)| result), Some("passed"));
    }

    #[test]
    fn issues_are_the_summary_and_the_details() {
        let report = |details: Value| Report {
            result: ReportResult::Failed,
            summary: "s".parse().unwrap(),
            details: Some(details),
            agent_context: None,
        };
        assert_eq!(report(json!("d")).issues(), ["s", "d"]);
        assert_eq!(
            report(json!([1, "t2", { "x": 1 }])).issues(),
            ["s", "1", "t2", "{\"x\":1}"]
        );
        assert_eq!(report(json!(null)).issues(), ["s"]);
        assert_eq!(report(json!("x".repeat(5000))).issues()[1].len(), ISSUE + 3);
    }
}
