//! Text for a terminal: foreign text made harmless, times and durations.

use chrono::{DateTime, Local};

use crate::domain::{Correspondent, Outcome, Text, Timestamp, UsageSum, is_deceptive};
use crate::words::counted;

/// The least likeness of a name and a typing error of it, between 0 and 1.
const ALIKE: f64 = 0.8;

/// Replaces control characters, which could move the cursor, and characters that reorder or hide text.
pub(in crate::cli) fn printable(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| {
            if c.is_control() && !matches!(c, '\n' | '\t') || is_deceptive(c) {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// Whether a text is a whole UUID with its dashes, in upper or lower case.
pub(in crate::cli) fn is_id(text: &str) -> bool {
    text.len() == uuid::fmt::Hyphenated::LENGTH && uuid::Uuid::try_parse(text).is_ok()
}

/// Joins the lines of a text, and makes it [`printable`].
pub(in crate::cli) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The length of an excerpt, in bytes.
const EXCERPT: usize = 160;

/// Returns the beginning of a text, on one line.
pub(in crate::cli) fn excerpt(text: &str) -> String {
    Text::lossy(one_line(text)).beginning(EXCERPT).into_string()
}

/// Returns the name of a party, or words for a person without one.
pub(in crate::cli) fn party(name: &Text) -> &str {
    match name.as_str() {
        Correspondent::ANONYMOUS => "a person",
        name => name,
    }
}

/// Returns the candidate that is most like a mistyped name, if one is like it.
pub(in crate::cli) fn closest<'a>(typed: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let alike = candidates
        .iter()
        .map(|name| (strsim::jaro_winkler(&typed, &name.to_lowercase()), *name));
    let alike = alike.filter(|(likeness, _)| *likeness > ALIKE);
    let best = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map(|(_, name)| name)
}

/// Formats the usage of runs; nothing without a run.
pub(in crate::cli) fn usage(sum: &UsageSum) -> Option<String> {
    let UsageSum {
        runs,
        input_tokens,
        output_tokens,
        turns,
        duration_ms,
        cost_usd,
    } = sum;
    (*runs > 0).then(|| {
        format!(
            "{}, {} s, {}, {} in, {output_tokens} out, {}",
            counted(*runs, "run"),
            duration_ms / 1000,
            counted(*turns, "turn"),
            counted(*input_tokens, "token"),
            if cost_usd.is_some() {
                cost(*cost_usd)
            } else {
                "cost unknown".to_owned()
            },
        )
    })
}

/// Formats a cost, which is unknown if no provider reports one.
pub(in crate::cli) fn cost(cost_usd: Option<f64>) -> String {
    cost_usd.map_or_else(|| "-".to_owned(), |cost_usd| format!("${cost_usd:.4}"))
}

/// Formats a time in the local time zone.
pub(in crate::cli) fn time(timestamp: Timestamp) -> String {
    match DateTime::from_timestamp_millis(timestamp.as_millis()) {
        Some(time) => time
            .with_timezone(&Local)
            .format("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => timestamp.as_millis().to_string(),
    }
}

pub(in crate::cli) fn duration(millis: i64) -> String {
    let millis = millis.max(0);
    let seconds = millis / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{millis} ms"),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

pub(in crate::cli) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::TimedOut => "timed out",
        outcome => outcome.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_others_cannot_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\rc\nd"), "a\u{fffd}[2Jb\u{fffd}c\nd");
        assert_eq!(printable("a\r\nb\u{9b}2J"), "a\nb\u{fffd}2J");
        assert_eq!(one_line(" a\n\tb\x07 "), "a b\u{fffd}");
    }

    #[test]
    fn a_mistyped_name_is_recognised() {
        let agents = ["developer", "developer-review", "planner", "qa"];
        assert_eq!(closest("develper", &agents), Some("developer"));
        assert_eq!(closest("Planer", &agents), Some("planner"));
        assert_eq!(closest("ghost", &agents), None);
        assert_eq!(closest("", &agents), None);
    }

    #[test]
    fn text_from_others_cannot_hide_or_reorder_characters() {
        let hidden = [
            '\u{61c}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2060}',
            '\u{2066}', '\u{2069}', '\u{feff}',
        ];
        for character in hidden {
            assert_eq!(
                printable(&format!("a{character}b")),
                "a\u{fffd}b",
                "{character:?}"
            );
            assert_eq!(one_line(&format!("a{character}b")), "a\u{fffd}b");
        }
        let joined = "👩\u{200d}🔬 می\u{200c}خواهم é";
        assert_eq!(printable(joined), joined);
    }
}
