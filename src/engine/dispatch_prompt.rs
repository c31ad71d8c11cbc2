//! The prompt for dispatched requests.

use std::fmt::Write as _;

use crate::domain::{Request, RequestSourceType, Text};

const EARLIER_ATTEMPTS: usize = 3;
const REASON_BUDGET: usize = 2 * 1024;
/// Applies to each title in the description of a batch.
const TITLE_BUDGET: usize = 80;

/// Writes the description of the task that a batch of requests gets.
pub(super) fn describe(batch: &[Request]) -> Text {
    match batch {
        [one] => one.title.clone(),
        several => {
            let titles: Vec<_> = several
                .iter()
                .map(|request| request.title.beginning(TITLE_BUDGET).into_string())
                .collect();
            Text::lossy(format!("{} requests: {}", several.len(), titles.join("; ")))
        }
    }
}

/// Writes the requests, the failures of earlier attempts, and the form of the response.
pub(super) fn compose(batch: &[Request], form: Option<&str>) -> Text {
    let mut text = String::new();
    match batch {
        [one] => {
            write(&mut text, format_args!("{}\n", one.title));
            about(&mut text, one);
        }
        several => {
            write(
                &mut text,
                format_args!(
                    "Complete all {} requests below. Your final message is the response to each of them.\n",
                    several.len()
                ),
            );
            for (place, request) in several.iter().enumerate() {
                write(
                    &mut text,
                    format_args!("\n## Request {}: {}\n", place + 1, request.title),
                );
                about(&mut text, request);
            }
        }
    }
    if let Some(form) = form {
        write(
            &mut text,
            format_args!(
                "\nWrite your final message in this form. Replace each comment with its content, and delete sections that do not apply:\n\n\
                 ````markdown\n{}\n````\n",
                form.trim()
            ),
        );
    }
    Text::lossy(text)
}

fn about(text: &mut String, request: &Request) {
    let body = request.body.as_str().trim_end();
    if request.source.source_type == RequestSourceType::File && !body.is_empty() {
        write(
            text,
            format_args!(
                "\nThe request comes from a file. Do only the work about {:?}. The section around it:\n\n{body}\n",
                request.title.as_str()
            ),
        );
    } else if !body.is_empty() {
        write(text, format_args!("\n{body}\n"));
    }
    write(
        text,
        format_args!(
            "\n[Request {} of kind {}, priority {}{}]\n",
            request.id,
            request.kind,
            request.priority.as_str(),
            place(request)
        ),
    );
    let earlier = request.recovery.len().saturating_sub(EARLIER_ATTEMPTS);
    for recovery in &request.recovery[earlier..] {
        write(
            text,
            format_args!(
                "[An earlier attempt failed: {}]\n",
                recovery.reason.beginning(REASON_BUDGET)
            ),
        );
    }
}

fn place(request: &Request) -> String {
    let source = &request.source;
    match (source.source_type, &source.file, &source.task_id) {
        (RequestSourceType::File, Some(file), _) => match source.line {
            Some(line) => format!(", from {file}:{line}"),
            None => format!(", from {file}"),
        },
        (RequestSourceType::Task, _, Some(task_id)) => format!(", from task {task_id}"),
        _ => String::new(),
    }
}

fn write(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes everything");
}
