//! Providers of agents: one file each, behind the trait [`Reader`].
//!
//! A provider parses its program's output line by line into messages and a [`Report`]. [`judge()`] determines the outcome from the
//! report and the end of the process, in one place for all providers: a run is completed only if the process exited cleanly, and
//! the program reported an end that is not an error.

mod claude_code;
mod codex;
mod command;
mod complaint;
mod environment;
mod gemini;
mod installed;
mod judge;
mod launch;
mod opencode;
mod permissions;
mod plain;

pub use claude_code::ClaudeCodeReader;
pub use codex::CodexReader;
pub use command::CommandReader;
pub use complaint::{complaint, has_complaints};
pub use environment::inherited;
pub use gemini::GeminiReader;
pub use installed::{find_program, is_logged_in, prepare, version};
pub use judge::{ProcessEnd, Verdict, is_lost_session, judge, with_advice};
pub use launch::{CommandLine, command_line, program_of};
pub use opencode::OpenCodeReader;
pub use plain::{Places, plain_text};

use serde_json::Value;

use crate::domain::{Agent, Provider, ProviderSession};

/// A message or action of an agent during its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Text(String),
    Thinking(String),
    ToolCall {
        name: String,
        /// JSON.
        input: String,
    },
    ToolResult {
        output: String,
        is_error: bool,
    },
    /// An error that does not end the run.
    Error(String),
    /// A failed attempt to reach the model, which the program repeats.
    Retry(String),
}

/// The state of a run according to its output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The session, which a later run can resume.
    pub session_id: Option<ProviderSession>,
    /// The final message, or the error that ended the run. `None` until the program reports its end.
    pub end: Option<Result<String, String>>,
    /// Tools that the agent tried to use without permission.
    pub denied_tools: Vec<String>,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Includes cached tokens.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Round trips to the model.
    pub turns: u64,
}

impl Report {
    /// Adds a denied tool, once.
    fn deny(&mut self, tool: &str) {
        if !self.denied_tools.iter().any(|known| known == tool) {
            self.denied_tools.push(tool.to_owned());
        }
    }
}

/// Reads the output of one run.
pub trait Reader: Send {
    /// Reads a complete line of standard output, without its newline. Unknown lines are ignored, because programs also print warnings.
    fn line(&mut self, line: &str) -> Vec<Said>;
    /// Is called after the last line. Only readers of programs that do not report their own end need it.
    fn end_of_output(&mut self) {}
    fn report(&self) -> &Report;
}

pub fn reader(agent: &Agent) -> Box<dyn Reader> {
    match agent.provider {
        Provider::ClaudeCode => Box::new(ClaudeCodeReader::default()),
        Provider::Codex => Box::new(CodexReader::default()),
        Provider::OpenCode => Box::new(OpenCodeReader::default()),
        Provider::Gemini => Box::new(GeminiReader::default()),
        Provider::Command => Box::new(CommandReader::new(agent.output_form.clone())),
    }
}

fn object(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

fn text(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

/// Reads the id of a session. An illegal one is none: the session cannot be resumed.
fn session(value: &Value, key: &str) -> Option<ProviderSession> {
    ProviderSession::parse(value[key].as_str()?).ok()
}

/// Adds up number fields. A missing field counts as 0.
fn sum(value: &Value, keys: &[&str]) -> u64 {
    keys.iter().filter_map(|key| value[key].as_u64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Includes a recorded output of an agent's program.
    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/fixtures/agent-output/",
                $name
            ))
        };
    }

    pub(super) use fixture;

    pub fn read(mut reader: impl Reader, output: &str) -> (Vec<Said>, Report) {
        let said = output.lines().flat_map(|line| reader.line(line)).collect();
        (said, reader.report().clone())
    }

    /// Judges an output with its recorded exit code.
    pub fn verdict(reader: impl Reader, output: &str, code: i32, stderr: &str) -> Verdict {
        let (_, report) = read(reader, output);
        judge(&report, ProcessEnd::Exited(code), stderr)
    }

    #[test]
    fn lines_that_are_not_json_objects_are_ignored() {
        for line in ["", "warning: something", "[1]", "{", "null", "\"text\""] {
            assert_eq!(ClaudeCodeReader::default().line(line), []);
            assert_eq!(CodexReader::default().line(line), []);
            assert_eq!(OpenCodeReader::default().line(line), []);
            assert_eq!(GeminiReader::default().line(line), []);
        }
    }

    #[test]
    fn a_printed_session_that_looks_like_an_option_is_none() {
        for id in ["--dangerously-skip-permissions", "-c", "", "a b", "../x"] {
            let claude = format!(r#"{{"type":"system","session_id":"{id}"}}"#);
            let codex = format!(r#"{{"type":"thread.started","thread_id":"{id}"}}"#);
            let opencode = format!(r#"{{"type":"text","sessionID":"{id}"}}"#);
            let gemini = format!(r#"{{"type":"init","session_id":"{id}"}}"#);
            for report in [
                read(ClaudeCodeReader::default(), &claude).1,
                read(CodexReader::default(), &codex).1,
                read(OpenCodeReader::default(), &opencode).1,
                read(GeminiReader::default(), &gemini).1,
            ] {
                assert_eq!(report.session_id, None, "{id}");
            }
        }
    }
}
