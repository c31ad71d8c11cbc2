//! Decides what became of a run.

use super::{Report, Usage};
use crate::domain::Outcome;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It had said that it was finished and did not go, so it was stopped.
    StoppedAfterEnd,
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How it ended.
    pub outcome: Outcome,
    /// The final message, or what went wrong and what to do.
    pub output: String,
    /// What was counted.
    pub usage: Usage,
}

/// How much of what a program complained about is repeated.
const STDERR_SHOWN: usize = 2000;

/// Decides what a report and the end of the process mean together.
pub fn judge(report: &Report, end: ProcessEnd, stderr: &str) -> Verdict {
    let (outcome, output) = match (&report.end, end) {
        (Some(Err(error)), _) => (Outcome::Failed, with_advice(error)),
        (Some(Ok(message)), ProcessEnd::Exited(0) | ProcessEnd::StoppedAfterEnd) => {
            if message.trim().is_empty() {
                (Outcome::Failed, without_message(report))
            } else {
                (Outcome::Completed, message.clone())
            }
        }
        (Some(Ok(message)), end) if message.trim().is_empty() => {
            (Outcome::Failed, without_end(end, stderr))
        }
        (Some(Ok(message)), end) => (
            Outcome::Failed,
            format!(
                "The agent gave a final message, but its program then {}. {}\nThe message was:\n{message}",
                ended(end),
                complaint(stderr)
            ),
        ),
        (None, end) => (Outcome::Failed, without_end(end, stderr)),
    };
    Verdict {
        outcome,
        output,
        usage: report.usage,
    }
}

fn without_message(report: &Report) -> String {
    if report.denied_tools.is_empty() {
        return "The agent ended without a final message. Ask again, and say what it should answer.".to_owned();
    }
    format!(
        "The agent ended without a final message; it was not allowed to use {}. Allow that in the agent's allowedTools, or ask for something else.",
        report.denied_tools.join(", ")
    )
}

fn without_end(end: ProcessEnd, stderr: &str) -> String {
    let said = complaint(stderr);
    match end {
        ProcessEnd::Exited(0) => {
            format!("The agent's program ended without a result, or its output was cut. {said}")
        }
        end => format!(
            "The agent's program {} before it gave a result. {said}",
            ended(end)
        ),
    }
}

/// Repeats what a program complained about, and adds what a person can do.
fn complaint(stderr: &str) -> String {
    let complaint = last_part(stderr.trim(), STDERR_SHOWN);
    if complaint.is_empty() {
        return "It printed no error.".to_owned();
    }
    let advice = advice(complaint).map_or_else(String::new, |advice| format!("\n{advice}"));
    format!("It said:\n{complaint}{advice}")
}

fn ended(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Exited(code) => format!("ended with exit code {code}"),
        ProcessEnd::Signalled(signal) => format!("was ended by signal {signal}"),
        ProcessEnd::StoppedAfterEnd => "did not go by itself".to_owned(),
    }
}

/// Adds what a person can do about an error.
fn with_advice(error: &str) -> String {
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
    ]) {
        Some(
            "Log in with the program itself, or set its API key in the environment of the server or the agent.",
        )
    } else if says(&["429", "rate limit", "usage limit", "quota"]) {
        Some("The model's rate limit is reached; hand off again later.")
    } else if says(&["529", "overloaded", "high demand", "503"]) {
        Some("The model's service is overloaded; hand off again in a while.")
    } else if says(&[
        "econnrefused",
        "connection refused",
        "network",
        "enotfound",
        "getaddrinfo",
    ]) {
        Some(
            "The model's service cannot be reached; check the network and the base URL of the program.",
        )
    } else if says(&["maximum number of turns", "max_turns"]) {
        Some("Raise the agent's limit of turns, or hand off a smaller piece of work.")
    } else if says(&["prompt is too long", "exceeds 10mb", "too large"]) {
        Some("Shorten the prompt, or put what is long into a file of the workspace.")
    } else if says(&["root/sudo"]) {
        Some("Run the server as an ordinary user, or choose another permissionMode for the agent.")
    } else if says(&["unknown option", "unexpected argument", "unknown argument"]) {
        Some("Check the agent's extra arguments against the installed version of the program.")
    } else {
        None
    }
}

/// Returns the end of a text, on a character's border.
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
    fn all_three_must_be_well() {
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
                "what was said is kept: {}",
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
    fn a_failure_tells_what_to_do() {
        let told = |error| judge(&finished(Err(error)), ProcessEnd::Exited(1), "").output;
        assert!(
            told("Not logged in · Please run /login").contains("Log in with the program itself")
        );
        assert!(told("API Error: Request rejected (429)").contains("hand off again later"));
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
                && silent.output.contains("extra arguments"),
            "{}",
            silent.output
        );
    }

    #[test]
    fn a_long_complaint_is_cut_at_its_beginning_on_a_border() {
        let stderr = "ü".repeat(3000);
        let verdict = judge(&Report::default(), ProcessEnd::Signalled(15), &stderr);
        assert!(verdict.output.contains("signal 15") && verdict.output.len() < 2300);
    }
}
