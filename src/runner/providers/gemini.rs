//! Gemini CLI, with `-o stream-json`.

use super::{Reader, Report, Said, object, session, sum, text};

/// The maximum size of an output that is one JSON document. Gemini CLI itself cuts longer documents.
const LONGEST_DOCUMENT: usize = 1024 * 1024;

/// Reads the output of Gemini CLI: lines of JSON, or one document if the agent's arguments select that.
#[derive(Debug, Default)]
pub struct GeminiReader {
    report: Report,
    /// Lines that are not events, as parts of a document.
    document: String,
    /// The assistant's text since the last tool call.
    message: String,
}

impl Reader for GeminiReader {
    fn line(&mut self, line: &str) -> Vec<Said> {
        let Some(line) = object(line) else {
            if self.document.len() + line.len() < LONGEST_DOCUMENT {
                self.document.push_str(line);
                self.document.push('\n');
            }
            return Vec::new();
        };
        match line["type"].as_str() {
            Some("init") => {
                self.report.session_id = session(&line, "session_id");
                Vec::new()
            }
            Some("message") if line["role"] == "assistant" => {
                self.message
                    .push_str(line["content"].as_str().unwrap_or_default());
                Vec::new()
            }
            Some("tool_use") => {
                let mut said = self.take_text();
                let name = text(&line, "tool_name").unwrap_or_default();
                said.push(Said::ToolCall {
                    name,
                    input: line["parameters"].to_string(),
                });
                said
            }
            Some("tool_result") => {
                let output = text(&line, "output").unwrap_or_default();
                if line["error"]["type"] == "policy_violation" {
                    let call = line["tool_id"].as_str().unwrap_or_default();
                    self.report
                        .deny(call.split("__").next().unwrap_or_default());
                }
                vec![Said::ToolResult {
                    is_error: line["status"] != "success" || has_failed(&output),
                    output,
                }]
            }
            Some("error") => vec![Said::Error(text(&line, "message").unwrap_or_default())],
            Some("result") => self.result(&line),
            _ => Vec::new(),
        }
    }

    fn end_of_output(&mut self) {
        if let Some(document) =
            object(&std::mem::take(&mut self.document)).filter(|_| self.report.end.is_none())
        {
            self.whole(&document);
        }
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

impl GeminiReader {
    fn whole(&mut self, document: &serde_json::Value) {
        let models = document["stats"]["models"].as_object();
        for model in models.into_iter().flat_map(serde_json::Map::values) {
            self.report.usage.input_tokens += sum(&model["tokens"], &["prompt"]);
            self.report.usage.output_tokens += sum(&model["tokens"], &["candidates", "thoughts"]);
        }
        self.report.usage.turns = sum(&document["stats"]["tools"], &["totalCalls"]) + 1;
        self.report.session_id = session(document, "session_id");
        let error = text(&document["error"], "message");
        self.report.end = match (text(document, "response"), error) {
            (_, Some(error)) => Some(Err(error)),
            (Some(response), None) => Some(Ok(response)),
            (None, None) => None,
        };
    }

    /// Takes the text collected from several events.
    fn take_text(&mut self) -> Vec<Said> {
        let text = std::mem::take(&mut self.message);
        if text.is_empty() {
            Vec::new()
        } else {
            vec![Said::Text(text)]
        }
    }

    fn result(&mut self, line: &serde_json::Value) -> Vec<Said> {
        let stats = &line["stats"];
        self.report.usage.input_tokens = sum(stats, &["input_tokens"]);
        self.report.usage.output_tokens = sum(stats, &["output_tokens"]);
        self.report.usage.turns = sum(stats, &["tool_calls"]) + 1;
        self.report.end = Some(if line["status"] == "success" {
            Ok(self.message.clone())
        } else {
            let error = text(&line["error"], "message");
            Err(error.unwrap_or_else(|| {
                "Gemini CLI failed without an error message; see the log".to_owned()
            }))
        });
        self.take_text()
    }
}

/// Whether the output of a tool that was called well says that its command failed.
fn has_failed(output: &str) -> bool {
    let code = output
        .lines()
        .find_map(|line| line.trim().strip_prefix("Exit Code: "));
    code.is_some_and(|code| code.trim() != "0") || output.starts_with("Blocked: ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fixture, read, verdict};
    use super::super::{ProcessEnd, judge};
    use super::*;
    use crate::domain::{Outcome, ProviderSession};

    const TEXT_THEN_TOOL: &str = fixture!("gemini-stream-text-then-tool.jsonl");

    #[test]
    fn the_final_message_is_the_text_after_the_last_tool_call() {
        let (said, report) = read(GeminiReader::default(), TEXT_THEN_TOOL);
        assert_eq!(said[0], Said::Text("interim message 1".into()));
        assert_eq!(
            said[2],
            Said::ToolResult {
                output: "step-1".into(),
                is_error: false
            }
        );
        let message = "tool said: <untrusted_context>\nOutput: step-2\nProcess Group PGID: 31067\n</untrusted_context>";
        assert_eq!(said.last(), Some(&Said::Text(message.into())));
        assert_eq!(
            report.session_id.as_ref().map(ProviderSession::as_str),
            Some("2b81e802-6eef-460c-92ff-f678239f8b78")
        );
        assert_eq!(
            (report.usage.input_tokens, report.usage.output_tokens),
            (40, 20)
        );
        let verdict = verdict(GeminiReader::default(), TEXT_THEN_TOOL, 0, "");
        assert_eq!(
            (verdict.outcome, verdict.output.as_str()),
            (Outcome::Completed, message)
        );
    }

    #[test]
    fn a_single_json_document_is_read_too() {
        for (output, beginning) in [
            (fixture!("gemini-json.json"), "final message: hello world"),
            (
                fixture!("gemini-json-text-then-tool.json"),
                "tool said: <untrusted_context>",
            ),
        ] {
            let mut reader = GeminiReader::default();
            for line in output.lines() {
                assert_eq!(reader.line(line), []);
            }
            reader.end_of_output();
            assert!(reader.report().usage.input_tokens > 0 && reader.report().session_id.is_some());
            let verdict = judge(reader.report(), ProcessEnd::Exited(0), "");
            assert_eq!(verdict.outcome, Outcome::Completed);
            assert!(verdict.output.starts_with(beginning), "{}", verdict.output);
        }
    }

    #[test]
    fn an_error_on_standard_error_is_reported_with_advice() {
        let failed = verdict(
            GeminiReader::default(),
            "",
            145,
            "API key not valid. Please pass a valid API key.",
        );
        assert_eq!(failed.outcome, Outcome::Failed);
        assert!(
            failed.output.contains("exit code 145") && failed.output.contains("Log in with"),
            "{}",
            failed.output
        );
    }

    #[test]
    fn a_result_that_is_cut_off_is_a_failure() {
        let cut = TEXT_THEN_TOOL
            .rsplit_once("{\"type\":\"result\"")
            .unwrap()
            .0;
        assert_eq!(
            verdict(GeminiReader::default(), cut, 0, "").outcome,
            Outcome::Failed
        );
    }
}
