//! The sections about requests that are appended to a watched file.

use chrono::DateTime;

use crate::domain::{Recovery, RequestState, Text, Timestamp};
use crate::ledger::request::TagChange;
use crate::tags::Section;

/// The maximum number of bytes of a reason in a file.
const REASON: usize = 500;

/// Composes the sections for the end of the file: recoveries of failed claims, and the link to the response.
pub(super) fn compose(change: &TagChange, url: &str) -> Vec<Section> {
    let request = &change.request;
    let told = usize::try_from(change.recoveries_told).unwrap_or(usize::MAX);
    let mut sections: Vec<_> = request
        .recovery
        .iter()
        .skip(told)
        .map(|recovery| recovered(&change.title, recovery))
        .collect();
    if change.needs_link {
        sections.push(answered(change, url));
    }
    sections
}

fn answered(change: &TagChange, url: &str) -> Section {
    let request = &change.request;
    let (at, by) = match request.transitions.last() {
        Some(moved) => (moved.at, plain(&moved.by)),
        None => (request.updated_at, String::new()),
    };
    let path = format!("/api/requests/{}/response", request.id);
    let line = format!(
        "* [{}]({url}{path}), {} by {by}",
        plain(&Text::lossy(change.title.clone())),
        time(at),
    );
    Section {
        heading: "## Response",
        lines: vec![line],
        // The server may have died after it wrote the link and before it recorded that.
        unless: (change.was == RequestState::Done).then_some(path),
    }
}

fn recovered(title: &str, recovery: &Recovery) -> Section {
    let run = recovery.earlier_run.as_ref();
    let run = run.map_or_else(|| "none".to_owned(), |run| format!("`{run}`"));
    Section {
        heading: "## Recovery",
        lines: vec![
            format!("* **Request**: {}", plain(&Text::lossy(title.to_owned()))),
            format!("* **Date**: {}", time(recovery.date)),
            format!("* **Reason**: {}", plain(&recovery.reason)),
            format!("* **Earlier run**: {run}"),
            format!("* **Action**: {}", plain(&recovery.action)),
            String::new(),
        ],
        unless: None,
    }
}

/// Joins text to one line, and escapes tags, links and code.
fn plain(text: &Text) -> String {
    let words: Vec<_> = text.as_str().split_whitespace().collect();
    let mut plain = String::new();
    for character in Text::lossy(words.join(" "))
        .beginning(REASON)
        .as_str()
        .chars()
    {
        if matches!(
            character,
            '#' | '[' | ']' | '(' | ')' | '`' | '<' | '\\' | '*'
        ) {
            plain.push('\\');
        }
        plain.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    plain
}

fn time(at: Timestamp) -> String {
    DateTime::from_timestamp_millis(at.as_millis()).map_or_else(
        || at.as_millis().to_string(),
        |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tag::scan;

    #[test]
    fn a_reason_never_becomes_a_tag() {
        for text in [
            "#needs-fix",
            "a (#needs-fix) [#P0](x) `#done-fix` \\#needs-x",
            "a\n# b\n\n**Tags**: #needs-fix",
            "<!-- #needs-fix",
        ] {
            let told = format!("* **Reason**: {}\n", plain(&Text::lossy(text.to_owned())));
            assert_eq!(scan(told.as_bytes()).occurrences, [], "{told}");
        }
    }
}
