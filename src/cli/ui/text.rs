//! Text that came from others, made fit for a terminal.

use chrono::{DateTime, Local};

use crate::domain::{Outcome, Timestamp, UsageSum};

/// Replaces control characters, which could move the cursor or change what was printed before.
pub(in crate::cli) fn printable(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| {
            if c.is_control() && !matches!(c, '\n' | '\t') {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// Puts text on one line.
pub(in crate::cli) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Counts things.
pub(in crate::cli) fn count(number: u64, thing: &str) -> String {
    if number == 1 {
        format!("1 {thing}")
    } else {
        format!("{number} {thing}s")
    }
}

/// Writes what runs used, if there were any.
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
            "{}, {} s, {}, {input_tokens} tokens in, {output_tokens} out, ${cost_usd:.4}",
            count(*runs, "run"),
            duration_ms / 1000,
            count(*turns, "turn"),
        )
    })
}

/// Writes a time as the clock on the wall shows it.
pub(in crate::cli) fn time(timestamp: Timestamp) -> String {
    match DateTime::from_timestamp_millis(timestamp.as_millis()) {
        Some(time) => time
            .with_timezone(&Local)
            .format("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => timestamp.as_millis().to_string(),
    }
}

/// Writes how long something took.
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

/// Writes how something ended.
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
}
