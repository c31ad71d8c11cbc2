//! Codex, with `exec --json`.

use super::{Reader, Report, Said, object, session, sum, text};

/// Reads the output of Codex.
#[derive(Debug, Default)]
pub struct CodexReader {
    report: Report,
    last_message: String,
}

impl Reader for CodexReader {
    fn line(&mut self, line: &str) -> Vec<Said> {
        let Some(line) = object(line) else {
            return Vec::new();
        };
        match line["type"].as_str() {
            Some("thread.started") => {
                self.report.session_id = session(&line, "thread_id");
                Vec::new()
            }
            Some("item.started") => Self::started(&line["item"]),
            Some("item.completed") => self.completed(&line["item"]),
            Some("error") => vec![Said::Retry(text(&line, "message").unwrap_or_default())],
            Some("turn.completed") => {
                let usage = &line["usage"];
                self.report.usage.input_tokens += sum(usage, &["input_tokens"]);
                self.report.usage.output_tokens += sum(usage, &["output_tokens"]);
                self.report.usage.turns += 1;
                self.report.end = Some(Ok(self.last_message.clone()));
                Vec::new()
            }
            Some("turn.failed") => {
                let error = text(&line["error"], "message")
                    .unwrap_or_else(|| "Codex failed without an error message; see the log".into());
                self.report.end = Some(Err(error));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

impl CodexReader {
    fn started(item: &serde_json::Value) -> Vec<Said> {
        match item["type"].as_str() {
            Some("command_execution") => {
                vec![Said::ToolCall {
                    name: "shell".into(),
                    input: item["command"].to_string(),
                }]
            }
            Some("mcp_tool_call") => {
                let name = format!(
                    "{}.{}",
                    item["server"].as_str().unwrap_or("?"),
                    item["tool"].as_str().unwrap_or("?")
                );
                vec![Said::ToolCall {
                    name,
                    input: item["arguments"].to_string(),
                }]
            }
            _ => Vec::new(),
        }
    }

    fn completed(&mut self, item: &serde_json::Value) -> Vec<Said> {
        match item["type"].as_str() {
            Some("agent_message") => {
                self.last_message = text(item, "text").unwrap_or_default();
                vec![Said::Text(self.last_message.clone())]
            }
            Some("reasoning") => vec![Said::Thinking(text(item, "text").unwrap_or_default())],
            Some("command_execution") => vec![Said::ToolResult {
                output: text(item, "aggregated_output").unwrap_or_default(),
                is_error: item["exit_code"].as_i64().is_some_and(|code| code != 0),
            }],
            Some("mcp_tool_call") => {
                let error = text(&item["error"], "message");
                vec![Said::ToolResult {
                    is_error: error.is_some(),
                    output: error.unwrap_or_else(|| item["result"].to_string()),
                }]
            }
            // A warning, such as one about an unknown model. Only `turn.failed` ends a turn.
            Some("error") => vec![Said::Error(text(item, "message").unwrap_or_default())],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fixture, read, verdict};
    use super::*;
    use crate::domain::{Outcome, ProviderSession};

    #[test]
    fn the_final_message_is_the_last_one_before_the_turn_ends() {
        for (output, beginning) in [
            (fixture!("codex-json.jsonl"), "final message"),
            (
                fixture!("codex-json-bash.jsonl"),
                "tool said: Chunk ID: f8e237",
            ),
            (
                fixture!("codex-json-text-then-tool.jsonl"),
                "tool said: Chunk ID: bd437a",
            ),
            (fixture!("codex-mcp.jsonl"), "tool said: Wall time"),
        ] {
            let verdict = verdict(CodexReader::default(), output, 0, "");
            assert_eq!(verdict.outcome, Outcome::Completed);
            assert!(verdict.output.starts_with(beginning), "{}", verdict.output);
        }
    }

    #[test]
    fn messages_and_tool_results_before_the_end_are_returned() {
        let (said, report) = read(
            CodexReader::default(),
            fixture!("codex-json-text-then-tool.jsonl"),
        );
        assert_eq!(said[1], Said::Text("interim message 1".into()));
        assert_eq!(
            said[3],
            Said::ToolResult {
                output: "step-1\n".into(),
                is_error: false
            }
        );
        assert_eq!(
            report.session_id.as_ref().map(ProviderSession::as_str),
            Some("01a1e28d-9ee0-7430-a49d-de82d3bfa7ed")
        );
        assert_eq!(
            (report.usage.input_tokens, report.usage.output_tokens),
            (30, 15)
        );
        let (said, _) = read(CodexReader::default(), fixture!("codex-mcp.jsonl"));
        assert!(
            said.iter()
                .any(|said| matches!(said, Said::ToolResult { is_error: true, .. }))
        );
    }

    #[test]
    fn a_failed_turn_is_a_failure() {
        for (output, message) in [
            (fixture!("codex-error-400.jsonl"), "scripted 400"),
            (
                fixture!("codex-error-500.jsonl"),
                "overloaded; hand off again",
            ),
        ] {
            let verdict = verdict(CodexReader::default(), output, 1, "");
            assert_eq!(verdict.outcome, Outcome::Failed);
            assert!(verdict.output.contains(message), "{}", verdict.output);
        }
    }
}
