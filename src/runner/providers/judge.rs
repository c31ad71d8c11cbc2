//! Determines the outcome of a run.

use super::{Report, Usage};
use crate::domain::Outcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    Exited(i32),
    Signalled(i32),
    /// The program reported its end but kept running, so it was stopped.
    StoppedAfterEnd,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The final message, or the error with advice.
    pub output: String,
    pub usage: Usage,
}

/// The maximum number of bytes of standard error in an output.
const STDERR_SHOWN: usize = 2000;

/// Determines the outcome from the report and the end of the process.
pub fn judge(report: &Report, end: ProcessEnd, stderr: &str) -> Verdict {
    let (outcome, output) = match (&report.end, end) {
        (Some(Err(error)), _) => (Outcome::Failed, with_advice(error)),
        (Some(Ok(message)), ProcessEnd::Exited(0) | ProcessEnd::StoppedAfterEnd) => {
            if message.trim().is_empty() {
                (Outcome::Failed, missing_message(report))
            } else {
                (Outcome::Completed, message.clone())
            }
        }
        (Some(Ok(message)), end) if message.trim().is_empty() => {
            (Outcome::Failed, missing_end(end, stderr))
        }
        (Some(Ok(message)), end) => (
            Outcome::Failed,
            format!(
                "The agent's program {}. {}\nIts output until then:\n{message}",
                describe_end(end),
                quote_stderr(stderr)
            ),
        ),
        (None, end) => (Outcome::Failed, missing_end(end, stderr)),
    };
    Verdict {
        outcome,
        output,
        usage: report.usage,
    }
}

fn missing_message(report: &Report) -> String {
    if report.denied_tools.is_empty() {
        return "The agent ended without a final message. Hand off again, and say in the prompt what to answer.".to_owned();
    }
    format!(
        "The agent ended without a final message, and was not allowed to use {}. Add that to the agent's allowedTools, or change the prompt.",
        report.denied_tools.join(", ")
    )
}

fn missing_end(end: ProcessEnd, stderr: &str) -> String {
    let said = quote_stderr(stderr);
    match end {
        ProcessEnd::Exited(0) => {
            format!("The agent's program ended without a result, or its output was cut off. {said}")
        }
        end => format!(
            "The agent's program {} before it gave a result. {said}",
            describe_end(end)
        ),
    }
}

/// Quotes the end of standard error, and adds advice.
fn quote_stderr(stderr: &str) -> String {
    let quoted = last_part(stderr.trim(), STDERR_SHOWN);
    if quoted.is_empty() {
        return "Standard error is empty; see the log.".to_owned();
    }
    let advice = advice(quoted).map_or_else(String::new, |advice| format!("\n{advice}"));
    format!("Standard error:\n{quoted}{advice}")
}

fn describe_end(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(code) => format!("ended with exit code {code}"),
        ProcessEnd::Signalled(signal) => format!("was killed by signal {signal}"),
        ProcessEnd::StoppedAfterEnd => "did not exit".to_owned(),
    }
}

/// Adds advice to an error, if there is any.
pub fn with_advice(error: &str) -> String {
    advice(error).map_or_else(|| error.to_owned(), |advice| format!("{error}\n{advice}"))
}

fn advice(error: &str) -> Option<&'static str> {
    let error = error.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
    if says(&[
        "not logged in",
        "/login",
        "api key",
        "401",
        "authentication",
        "unauthorized",
        "403",
        "forbidden",
    ]) {
        Some(
            "Log in with the agent's program, or set its API key in the environment of the server or the agent. The key must have the right to use the model.",
        )
    } else if says(&["429", "rate limit", "usage limit", "quota"]) {
        Some("The model's rate limit is reached; hand off again later.")
    } else if says(&["529", "overloaded", "high demand", "503"]) {
        Some("The model's API is overloaded; hand off again in a few minutes.")
    } else if says(&[
        "econnrefused",
        "connection refused",
        "network",
        "enotfound",
        "eai_again",
        "etimedout",
        "econnreset",
        "fetch failed",
        "getaddrinfo",
    ]) {
        Some(
            "The model's API cannot be reached; check the network and the base URL of the agent's program.",
        )
    } else if is_lost_session(&error) {
        Some("The program does not know this session any more; hand off again without `resume`.")
    } else if says(&["maximum number of turns", "max_turns"]) {
        Some("Raise the agent's turn limit, or hand off a smaller task.")
    } else if says(&["prompt is too long", "exceeds 10mb", "too large"]) {
        Some("Shorten the prompt, or move long text into a file of the workspace.")
    } else if says(&["root/sudo"]) {
        Some(
            "Run the server as a user other than root, or set another permissionMode for the agent.",
        )
    } else if says(&["unknown option", "unexpected argument", "unknown argument"]) {
        Some("Check the agent's `arguments` against the installed version of its program.")
    } else {
        None
    }
}

/// Whether a program says that it does not know the session that it should resume.
pub fn is_lost_session(error: &str) -> bool {
    let error = error.to_lowercase();
    LOST_SESSION.iter().any(|words| error.contains(words))
}

const LOST_SESSION: [&str; 5] = [
    "no conversation found",
    "no rollout found",
    "session not found",
    "error resuming session",
    "invalid session identifier",
];

/// Returns at most `bytes` bytes from the end, cut at a character boundary.
fn last_part(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(end: Result<&str, &str>) -> Report {
        Report {
            end: Some(end.map(str::to_owned).map_err(str::to_owned)),
            ..Report::default()
        }
    }

    #[test]
    fn a_run_is_completed_only_with_a_message_without_an_error_and_a_clean_exit() {
        let good = finished(Ok("done"));
        assert_eq!(
            judge(&good, ProcessEnd::Exited(0), "").outcome,
            Outcome::Completed
        );
        assert_eq!(judge(&good, ProcessEnd::StoppedAfterEnd, "").output, "done");
        for end in [ProcessEnd::Exited(1), ProcessEnd::Signalled(9)] {
            let verdict = judge(&good, end, "");
            assert_eq!(verdict.outcome, Outcome::Failed);
            assert!(
                verdict.output.ends_with("done"),
                "the final message is kept: {}",
                verdict.output
            );
        }
        assert_eq!(
            judge(&Report::default(), ProcessEnd::Exited(0), "").outcome,
            Outcome::Failed
        );
        assert_eq!(
            judge(&finished(Err("no")), ProcessEnd::Exited(0), "").outcome,
            Outcome::Failed
        );
        assert_eq!(
            judge(&finished(Ok(" \n")), ProcessEnd::Exited(0), "").outcome,
            Outcome::Failed
        );
    }

    #[test]
    fn a_failure_comes_with_advice() {
        let output = |error| judge(&finished(Err(error)), ProcessEnd::Exited(1), "").output;
        assert!(
            output("Not logged in · Please run /login").contains("Log in with the agent's program")
        );
        assert!(output("API Error: Request rejected (429)").contains("hand off again later"));
        let denied = Report {
            denied_tools: vec!["Bash".into()],
            ..finished(Ok(""))
        };
        assert!(
            judge(&denied, ProcessEnd::Exited(0), "")
                .output
                .contains("not allowed to use Bash")
        );
        let silent = judge(
            &Report::default(),
            ProcessEnd::Exited(1),
            "error: unknown option '--nope'",
        );
        assert!(
            silent.output.contains("ended with exit code 1")
                && silent.output.contains("the agent's `arguments`"),
            "{}",
            silent.output
        );
    }

    #[test]
    fn long_standard_error_is_cut_at_a_character_boundary() {
        let stderr = "ü".repeat(3000);
        let verdict = judge(&Report::default(), ProcessEnd::Signalled(15), &stderr);
        assert!(verdict.output.contains("signal 15") && verdict.output.len() < 2300);
    }
}
