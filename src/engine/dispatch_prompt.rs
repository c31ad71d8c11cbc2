//! What an agent is asked when requests are dispatched to it.

use std::fmt::Write as _;

use crate::domain::{Request, RequestSourceType, Text};

/// How many earlier attempts are told.
const EARLIER: usize = 3;

/// How many bytes of what went wrong in an earlier attempt are told.
const REASON: usize = 2 * 1024;

/// How many bytes of a title the description of a batch repeats.
const TITLE: usize = 80;

/// Says in a line what the task is.
pub(super) fn describe(batch: &[Request]) -> Text {
    match batch {
        [one] => one.title.clone(),
        several => {
            let titles: Vec<_> = several
                .iter()
                .map(|request| request.title.beginning(TITLE).into_string())
                .collect();
            Text::lossy(format!("{} requests: {}", several.len(), titles.join("; ")))
        }
    }
}

/// Writes what the agent is asked: the requests, what became of earlier attempts, and the form of the response.
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
                    "These are {} requests of one kind. Work on all of them; your last message is the response to each.\n",
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
                "\n# The form of your last message\n\nIt is the response to the request. Write it in this form:\n\n{}\n",
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
                "\nIt stands in a file. This is around it; only what is about {:?} is asked of you:\n\n{body}\n",
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
    let earlier = request.recovery.len().saturating_sub(EARLIER);
    for recovery in &request.recovery[earlier..] {
        write(
            text,
            format_args!(
                "[An earlier attempt came to nothing: {}]\n",
                recovery.reason.beginning(REASON)
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
