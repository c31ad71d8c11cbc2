//! Claude Code, with `--output-format stream-json --verbose`.

use serde_json::Value;

use super::{Reader, Report, Said, Usage, object, session, sum, text};

/// Reads the output of Claude Code.
///
/// Only the first result counts. A second result answers a notification about background work, not the prompt.
#[derive(Debug, Default)]
pub struct ClaudeCodeReader {
    report: Report,
}

impl Reader for ClaudeCodeReader {
    fn line(&mut self, line: &str) -> Vec<Said> {
        let Some(line) = object(line) else {
            return Vec::new();
        };
        if let Some(session) = session(&line, "session_id") {
            self.report.session_id = Some(session);
        }
        match line["type"].as_str() {
            Some("assistant" | "user") => {
                let blocks = line["message"]["content"]
                    .as_array()
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                // Messages of a subagent are internal to its parent.
                let is_nested = line["parent_tool_use_id"].is_string();
                blocks
                    .iter()
                    .filter(|_| !is_nested)
                    .filter_map(block)
                    .collect()
            }
            Some("system") if line["subtype"] == "api_retry" => {
                let (attempt, of) = (&line["attempt"], &line["max_retries"]);
                let why = line["error"].as_str().unwrap_or("unknown");
                let delay = line["retry_delay_ms"].as_u64().unwrap_or(0) / 1000;
                let delay = if delay > 0 {
                    format!("; the next one in {delay} s")
                } else {
                    String::new()
                };
                vec![Said::Retry(format!(
                    "The model's API returned an error ({why}); attempt {attempt} of {of}{delay}"
                ))]
            }
            Some("result") => {
                if self.report.end.is_none() {
                    self.result(&line);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

impl ClaudeCodeReader {
    fn result(&mut self, line: &Value) {
        let report = &mut self.report;
        let usage = &line["usage"];
        report.usage = Usage {
            input_tokens: sum(
                usage,
                &[
                    "input_tokens",
                    "cache_creation_input_tokens",
                    "cache_read_input_tokens",
                ],
            ),
            output_tokens: sum(usage, &["output_tokens"]),
            turns: sum(line, &["num_turns"]),
        };
        report.cost_usd = line["total_cost_usd"].as_f64();
        let denials = line["permission_denials"].as_array();
        for denial in denials.into_iter().flatten() {
            report.deny(denial["tool_name"].as_str().unwrap_or_default());
        }
        let result = text(line, "result");
        let errors = || {
            let errors = line["errors"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let errors: Vec<_> = errors.iter().filter_map(Value::as_str).collect();
            if errors.is_empty() {
                "Claude Code failed without an error message; see the log".to_owned()
            } else {
                errors.join("\n")
            }
        };
        // The subtype is `success` even for errors of the model's API.
        report.end = Some(if line["is_error"] == true {
            Err(result.unwrap_or_else(errors))
        } else if line["safety_stops"].as_u64().is_some_and(|stops| stops > 0) {
            Err(format!(
                "The model refused to continue. Change the prompt.\n{}",
                result.unwrap_or_default()
            ))
        } else {
            result.ok_or_else(errors)
        });
    }
}

fn block(block: &Value) -> Option<Said> {
    match block["type"].as_str()? {
        "text" => text(block, "text").map(Said::Text),
        "thinking" => text(block, "thinking").map(Said::Thinking),
        "tool_use" => Some(Said::ToolCall {
            name: text(block, "name")?,
            input: block["input"].to_string(),
        }),
        "tool_result" => Some(Said::ToolResult {
            output: match &block["content"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => parts
                    .iter()
                    .filter_map(|part| part["text"].as_str())
                    .collect(),
                other => other.to_string(),
            },
            is_error: block["is_error"] == true,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fixture, read, verdict};
    use super::super::{ProcessEnd, judge};
    use super::*;
    use crate::domain::{Outcome, ProviderSession};

    #[test]
    fn the_final_message_is_the_result() {
        for (output, message) in [
            (fixture!("claude-json.json"), "final message: hello world"),
            (fixture!("claude-2.1.197-json.json"), "final message: hello"),
            (
                fixture!("claude-stream-bash.jsonl"),
                "tool said: hello-from-bash\n0",
            ),
            (
                fixture!("claude-stream-mcp.jsonl"),
                "tool said: mcp heard: hi there",
            ),
            (
                fixture!("claude-stream-partial.jsonl"),
                "final message: partial",
            ),
            (
                fixture!("claude-stream-text-then-tool.jsonl"),
                "tool said: step-2",
            ),
        ] {
            let verdict = verdict(ClaudeCodeReader::default(), output, 0, "");
            assert_eq!(
                (verdict.outcome, verdict.output.as_str()),
                (Outcome::Completed, message)
            );
        }
    }

    #[test]
    fn messages_before_the_result_are_returned_in_order() {
        let (said, report) = read(
            ClaudeCodeReader::default(),
            fixture!("claude-stream-text-then-tool.jsonl"),
        );
        let call = |command: &str| Said::ToolCall {
            name: "Bash".into(),
            input: format!("{{\"command\":\"{command}\",\"description\":\"scripted\"}}"),
        };
        let result = |output: &str| Said::ToolResult {
            output: output.into(),
            is_error: false,
        };
        assert_eq!(
            said,
            [
                Said::Text("interim message 1".into()),
                call("echo step-1"),
                result("step-1"),
                Said::Text("interim message 2".into()),
                call("echo step-2"),
                result("step-2"),
                Said::Text("tool said: step-2".into()),
            ]
        );
        assert_eq!(
            report.session_id.as_ref().map(ProviderSession::as_str),
            Some("c230b412-1932-4fe1-bbbc-1024145b222e")
        );
        assert_eq!(
            (
                report.usage.turns,
                report.usage.input_tokens > 0,
                report.cost_usd.is_some()
            ),
            (3, true, true)
        );
    }

    #[test]
    fn the_answer_to_a_background_notification_is_not_the_final_message() {
        let output = fixture!("claude-stream-bgtask20.jsonl");
        let first = output
            .lines()
            .position(|line| line.contains("\"type\":\"result\""))
            .unwrap();
        let upto_first: String = output
            .lines()
            .take(first + 1)
            .flat_map(|line| [line, "\n"])
            .collect();
        let (_, alone) = read(ClaudeCodeReader::default(), &upto_first);
        let (_, whole) = read(ClaudeCodeReader::default(), output);
        assert_eq!(whole.end, alone.end);
        assert_eq!((whole.usage, whole.cost_usd), (alone.usage, alone.cost_usd));
    }

    #[test]
    fn messages_of_a_subagent_are_skipped() {
        let (said, report) = read(
            ClaudeCodeReader::default(),
            fixture!("claude-stream-subagent.jsonl"),
        );
        assert!(
            !said.contains(&Said::Text("say SUB-TEXT".into())),
            "{said:?}"
        );
        assert!(
            report
                .end
                .unwrap()
                .unwrap()
                .starts_with("tool said: [Subagent hand-back]")
        );
    }

    #[test]
    fn an_error_of_the_model_is_a_failure_with_advice() {
        for (output, message) in [
            (
                fixture!("claude-error-400.json"),
                "API Error: 400 scripted 400",
            ),
            (
                fixture!("claude-error-429-noretry.json"),
                "hand off again later",
            ),
            (
                fixture!("claude-error-529-noretry.json"),
                "overloaded; hand off again in a few minutes",
            ),
            (
                fixture!("claude-stream-529-default.jsonl"),
                "overloaded; hand off again in a few minutes",
            ),
            (
                fixture!("claude-down.json"),
                "cannot be reached; check the network",
            ),
            (
                fixture!("claude-nokey.json"),
                "Log in with the agent's program",
            ),
            (
                fixture!("claude-max-turns.json"),
                "Raise the agent's turn limit",
            ),
            (
                fixture!("claude-refusal.json"),
                "The model refused to continue",
            ),
        ] {
            let verdict = verdict(ClaudeCodeReader::default(), output, 1, "");
            assert_eq!(verdict.outcome, Outcome::Failed);
            assert!(verdict.output.contains(message), "{}", verdict.output);
        }
    }

    #[test]
    fn retries_are_reported_while_they_happen() {
        let (said, _) = read(
            ClaudeCodeReader::default(),
            fixture!("claude-stream-529-default.jsonl"),
        );
        assert_eq!(
            said[0],
            Said::Retry("The model's API returned an error (overloaded); attempt 1 of 10".into())
        );
    }

    #[test]
    fn denied_tools_are_kept_and_an_empty_result_is_a_failure() {
        let (_, report) = read(
            ClaudeCodeReader::default(),
            fixture!("claude-json-denied.json"),
        );
        assert_eq!(report.denied_tools, ["Bash"]);
        assert_eq!(
            judge(&report, ProcessEnd::Exited(0), "").outcome,
            Outcome::Completed
        );
        let empty = verdict(
            ClaudeCodeReader::default(),
            fixture!("claude-empty.json"),
            0,
            "",
        );
        assert_eq!(empty.outcome, Outcome::Failed);
        assert!(
            empty.output.contains("without a final message"),
            "{}",
            empty.output
        );
    }

    #[test]
    fn output_that_was_cut_is_a_failure() {
        let output = fixture!("claude-json.json");
        let cut = verdict(
            ClaudeCodeReader::default(),
            &output[..output.len() / 2],
            0,
            "",
        );
        assert_eq!(cut.outcome, Outcome::Failed);
        assert!(
            cut.output.contains("its output was cut off"),
            "{}",
            cut.output
        );
    }
}
