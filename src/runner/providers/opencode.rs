//! OpenCode, with `run --format json`.

use super::{Reader, Report, Said, object, session, sum, text};

const LENGTH: &str = "The model's answer was cut off at its maximum length. Ask for less, or raise the output limit of the model.";

/// The beginning of the error of a tool that the permissions deny.
const DENIED: &str = "The user has specified a rule which prevents you";

/// Reads the output of OpenCode.
#[derive(Debug, Default)]
pub struct OpenCodeReader {
    report: Report,
    /// The id and the text so far of the current message.
    message: Option<(String, String)>,
}

impl Reader for OpenCodeReader {
    fn line(&mut self, line: &str) -> Vec<Said> {
        let Some(line) = object(line) else {
            return Vec::new();
        };
        if let Some(session) = session(&line, "sessionID") {
            self.report.session_id = Some(session);
        }
        let part = &line["part"];
        match line["type"].as_str() {
            Some("text") => {
                let said = text(part, "text").unwrap_or_default();
                self.add(text(part, "messageID").unwrap_or_default(), &said);
                vec![Said::Text(said)]
            }
            Some("reasoning") => vec![Said::Thinking(text(part, "text").unwrap_or_default())],
            Some("tool_use") => {
                let state = &part["state"];
                let call = Said::ToolCall {
                    name: text(part, "tool").unwrap_or_default(),
                    input: state["input"].to_string(),
                };
                let error = text(state, "error");
                // A command that ran and failed has no error, only its exit code.
                let code = state["metadata"]["exit"].as_i64().unwrap_or(0);
                let is_error = error.is_some() || code != 0;
                if let Some(error) = &error
                    && error.starts_with(DENIED)
                {
                    self.report.deny(&text(part, "tool").unwrap_or_default());
                }
                let output = error.or_else(|| text(state, "output")).unwrap_or_default();
                vec![call, Said::ToolResult { output, is_error }]
            }
            Some("step_finish") => {
                let tokens = &part["tokens"];
                self.report.usage.input_tokens +=
                    sum(tokens, &["input"]) + sum(&tokens["cache"], &["read", "write"]);
                self.report.usage.output_tokens += sum(tokens, &["output", "reasoning"]);
                self.report.usage.turns += 1;
                // OpenCode writes 0 for a model whose price it does not know.
                if let Some(cost) = part["cost"].as_f64().filter(|cost| *cost > 0.0) {
                    *self.report.cost_usd.get_or_insert(0.0) += cost;
                }
                if part["reason"] == "length" {
                    self.report.end = Some(Err(LENGTH.to_owned()));
                }
                if part["reason"] == "stop" {
                    let finished = text(part, "messageID").unwrap_or_default();
                    let message = self.message.take().filter(|(id, _)| *id == finished);
                    self.report.end = Some(Ok(message.map(|(_, text)| text).unwrap_or_default()));
                }
                Vec::new()
            }
            Some("error") => {
                let error = &line["error"];
                let message = text(&error["data"], "message").or_else(|| text(error, "name"));
                let message = message.unwrap_or_else(|| {
                    "OpenCode failed without an error message; see the log".to_owned()
                });
                self.report.end = Some(Err(message.clone()));
                vec![Said::Error(message)]
            }
            _ => Vec::new(),
        }
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

impl OpenCodeReader {
    fn add(&mut self, id: String, said: &str) {
        match &mut self.message {
            Some((current, text)) if *current == id => text.push_str(said),
            message => *message = Some((id, said.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fixture, read, verdict};
    use super::*;
    use crate::domain::Outcome;

    #[test]
    fn the_final_message_is_the_text_of_the_step_with_reason_stop() {
        for (output, message) in [
            (
                fixture!("opencode-json.jsonl"),
                "final message: \"hello world\"",
            ),
            (
                fixture!("opencode-json-text-then-tool.jsonl"),
                "tool said: step-2\n",
            ),
        ] {
            let verdict = verdict(OpenCodeReader::default(), output, 0, "");
            assert_eq!(
                (verdict.outcome, verdict.output.as_str()),
                (Outcome::Completed, message)
            );
        }
        assert_eq!(
            verdict(
                OpenCodeReader::default(),
                fixture!("opencode-json-bash.jsonl"),
                0,
                ""
            )
            .outcome,
            Outcome::Completed
        );
    }

    #[test]
    fn the_usage_of_all_steps_is_added_up() {
        let (said, report) = read(
            OpenCodeReader::default(),
            fixture!("opencode-json-text-then-tool.jsonl"),
        );
        assert_eq!(
            (
                report.usage.input_tokens,
                report.usage.output_tokens,
                report.usage.turns
            ),
            (30, 15, 3)
        );
        assert_eq!(
            said.iter()
                .filter(|said| matches!(said, Said::ToolCall { .. }))
                .count(),
            2
        );
    }

    #[test]
    fn an_error_event_or_an_empty_output_is_a_failure() {
        let failed = verdict(
            OpenCodeReader::default(),
            fixture!("opencode-error-400.jsonl"),
            1,
            "",
        );
        assert_eq!(
            (failed.outcome, failed.output.as_str()),
            (Outcome::Failed, "scripted 400")
        );
        // A refused permission ends the run with exit code 0 and no text.
        let silent = verdict(
            OpenCodeReader::default(),
            "",
            0,
            "permission requested: bash; auto-rejecting",
        );
        assert_eq!(silent.outcome, Outcome::Failed);
        assert!(
            silent.output.contains("auto-rejecting"),
            "{}",
            silent.output
        );
    }
}
