//! Kinds of agents: one file each, behind one narrow interface.
//!
//! A provider reads what its program prints, line by line, into what was said and a [`Report`]. What the report and the
//! end of the process mean together is decided in one place for all of them, [`judge()`]: a run is completed only if the
//! process ended well, the program said that it was finished, and it did not call that an error.

mod claude_code;
mod codex;
mod command;
mod gemini;
mod installed;
mod judge;
mod launch;
mod opencode;
mod plain;
mod tools;

pub use claude_code::ClaudeCodeReader;
pub use codex::CodexReader;
pub use command::CommandReader;
pub use gemini::GeminiReader;
pub use installed::{find_program, version};
pub use judge::{ProcessEnd, Verdict, judge};
pub use launch::{CommandLine, command_line};
pub use opencode::OpenCodeReader;
pub use plain::plain_text;
pub use tools::tool_names;

use serde_json::Value;

use crate::domain::{Agent, Provider};

/// Something that an agent said or did while it worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A text for whoever reads along.
    Text(String),
    /// What it thought.
    Thinking(String),
    /// A tool that it called.
    ToolCall {
        /// The tool.
        name: String,
        /// What it was given, as JSON.
        input: String,
    },
    /// What a tool gave back.
    ToolResult {
        /// What.
        output: String,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// Something that went wrong on the way.
    Error(String),
}

/// What a run has come to, as far as its output tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The session that can be continued.
    pub session_id: Option<String>,
    /// The final message, or the error that ended it. `None` until the program says that it is finished.
    pub end: Option<Result<String, String>>,
    /// Tools that the agent wanted to use and was not allowed to.
    pub denied_tools: Vec<String>,
    /// What was counted.
    pub usage: Usage,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that went in, cached ones too.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// Rounds with the model.
    pub turns: u64,
}

/// Reads the output of one run. Lines are whole, without their end.
pub trait Reader: Send {
    /// Reads a line of standard output. A line that is not understood is no error: programs print what they like.
    fn line(&mut self, line: &str) -> Vec<Said>;
    /// Learns that nothing more will come. Programs that say when they are finished need not know.
    fn end_of_output(&mut self) {}
    /// Returns what the run has come to.
    fn report(&self) -> &Report;
}

/// Returns the reader for what an agent's program prints.
pub fn reader(agent: &Agent) -> Box<dyn Reader> {
    match agent.provider {
        Provider::ClaudeCode => Box::new(ClaudeCodeReader::default()),
        Provider::Codex => Box::new(CodexReader::default()),
        Provider::OpenCode => Box::new(OpenCodeReader::default()),
        Provider::Gemini => Box::new(GeminiReader::default()),
        Provider::Command => Box::new(CommandReader::new(agent.output_form.clone())),
    }
}

/// Parses a line that should be a JSON object.
fn object(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// Reads a text field.
fn text(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

/// Adds up number fields; those that are not there count nothing.
fn sum(value: &Value, keys: &[&str]) -> u64 {
    keys.iter().filter_map(|key| value[key].as_u64()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes in a real output of an agent's program.
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

    /// Reads a whole output as its provider would.
    pub fn read(mut reader: impl Reader, output: &str) -> (Vec<Said>, Report) {
        let said = output.lines().flat_map(|line| reader.line(line)).collect();
        (said, reader.report().clone())
    }

    /// Reads an output and judges it with the exit code that was measured.
    pub fn verdict(reader: impl Reader, output: &str, code: i32, stderr: &str) -> Verdict {
        let (_, report) = read(reader, output);
        judge(&report, ProcessEnd::Exited(code), stderr)
    }

    #[test]
    fn lines_that_are_no_json_are_passed_over() {
        for line in ["", "warning: something", "[1]", "{", "null", "\"text\""] {
            assert_eq!(ClaudeCodeReader::default().line(line), []);
            assert_eq!(CodexReader::default().line(line), []);
            assert_eq!(OpenCodeReader::default().line(line), []);
            assert_eq!(GeminiReader::default().line(line), []);
        }
    }
}
