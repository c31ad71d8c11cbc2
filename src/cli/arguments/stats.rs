//! Arguments of `chorus stats`.

use chrono::{Local, NaiveDate, NaiveTime};
use clap::Args;

use super::ServerArguments;
use crate::domain::Timestamp;

#[derive(Debug, Args)]
pub(in crate::cli) struct StatsArguments {
    /// Only hand-offs started since then, such as 24h or 2026-01-31
    ///
    /// A length of time (30m, 24h, 7d, 2w), a day (2026-01-31) or milliseconds since the epoch.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
    /// Only hand-offs from or to this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Since {
    /// Milliseconds before now.
    Ago(i64),
    At(Timestamp),
}

/// A smaller number of milliseconds is taken for a number without its unit.
const FIRST_MILLIS: i64 = 10_000_000_000;

fn since(text: &str) -> Result<Since, String> {
    let not_a_time = || "write 30m, 24h, 7d, 2w, 2026-01-31 or milliseconds".to_owned();
    if let Ok(millis) = text.parse() {
        if (0..FIRST_MILLIS).contains(&millis) {
            return Err(not_a_time());
        }
        return Ok(Since::At(Timestamp::from_millis(millis)));
    }
    if let Ok(day) = text.parse::<NaiveDate>() {
        // Where the clock is put forward at midnight, the day begins later.
        let begins = day
            .and_time(NaiveTime::MIN)
            .and_local_timezone(Local)
            .earliest();
        let begins = begins.ok_or_else(|| format!("{day} does not begin at midnight here"))?;
        return Ok(Since::At(Timestamp::from_millis(begins.timestamp_millis())));
    }
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        Some('w') => 7 * 86_400_000,
        _ => return Err(not_a_time()),
    };
    text[..text.len() - 1]
        .parse::<u32>()
        .ok()
        .and_then(|number| i64::from(number).checked_mul(unit))
        .map(Since::Ago)
        .ok_or_else(not_a_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_length_a_day_or_milliseconds() {
        assert_eq!(since("24h"), Ok(Since::Ago(86_400_000)));
        assert_eq!(since("7d"), Ok(Since::Ago(7 * 86_400_000)));
        assert_eq!(since("0m"), Ok(Since::Ago(0)));
        assert_eq!(since("2w"), Ok(Since::Ago(14 * 86_400_000)));
        assert_eq!(
            since("1767225600000"),
            Ok(Since::At(Timestamp::from_millis(1_767_225_600_000)))
        );
        assert!(matches!(since("2026-01-31"), Ok(Since::At(_))));
        for text in [
            "",
            "h",
            "-1h",
            "1.5h",
            "ä",
            "1y",
            "2026-02-30",
            "99999999999d",
            "now",
            "1 h",
        ] {
            assert!(since(text).is_err(), "{text:?}");
        }
    }
}
