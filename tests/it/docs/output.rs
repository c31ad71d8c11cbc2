//! Compares what an example printed with what its page shows.

/// Stands for any text in a line, or on a line of its own for any lines.
const ANYTHING: char = '…';

/// Returns whether an output is the one that a page shows. Ids, times, durations and the width of gaps may differ.
pub fn is_shown(shown: &str, printed: &str) -> bool {
    let lines = |text: &str| text.trim_end().lines().map(normalise).collect::<Vec<_>>();
    are_shown(&lines(shown), &lines(printed))
}

fn are_shown(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.chars().eq([ANYTHING]) => {
            (0..=printed.len()).any(|skipped| are_shown(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| is_line(first, line) && are_shown(rest, others)),
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    match shown.split_once(ANYTHING) {
        None => shown == printed,
        Some((start, rest)) => printed.strip_prefix(start).is_some_and(|behind| {
            let ends = behind
                .char_indices()
                .map(|(place, _)| place)
                .chain([behind.len()]);
            ends.into_iter()
                .any(|place| is_line(rest, &behind[place..]))
        }),
    }
}

/// Replaces ids, times and durations by their names, and gaps by one space.
fn normalise(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let is_inner =
        |character: char| character.is_ascii_alphanumeric() || "-:._".contains(character);
    for part in line.split_whitespace() {
        let mut text = String::new();
        for piece in part.split_inclusive(|character| !is_inner(character)) {
            let end = piece
                .trim_end_matches(|character| !is_inner(character) || ".:".contains(character))
                .len();
            let (word, behind) = piece.split_at(end);
            text.push_str(kind(word).unwrap_or(word));
            text.push_str(behind);
        }
        let unit = text.trim_end_matches([',', ')', '.', ';']);
        let number = words
            .last()
            .is_some_and(|word| word.trim_start_matches('(').parse::<f64>().is_ok());
        if number && ["ms", "s", "min", "h"].contains(&unit) {
            words.pop();
            text = text.replacen(unit, "DURATION", 1);
        }
        words.push(text);
    }
    words.join(" ")
}

/// Names the kind of a word that differs from run to run.
fn kind(word: &str) -> Option<&'static str> {
    let shape: String = word
        .chars()
        .map(|character| match character {
            '0'..='9' => '0',
            'a'..='f' => 'a',
            other => other,
        })
        .collect();
    let hex = |part: &str| part.chars().all(|character| "0a".contains(character));
    let digits = |part: &str| part.chars().all(|character| character == '0');
    // A table shows the last 8 characters of an id, or more.
    let full = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
    let is_id = shape.len() >= 8 && full.ends_with(&shape.replace('0', "a"));
    let is_hash = [16, 32, 64].contains(&shape.len()) && hex(&shape);
    let is_time = shape.starts_with("0000-00-00")
        || ["00:00:00", "00:00"].contains(&shape.as_str())
        || (shape.len() == 13 && digits(&shape));
    match () {
        () if is_id => Some("ID"),
        () if is_time => Some("TIME"),
        () if is_hash => Some("HASH"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_shown;

    #[test]
    fn ids_times_durations_and_gaps_may_differ() {
        let shown = "task  01a1ecbc-1cdd-77ec-b020-de29d6c797c4  2026-11-18 03:38:33\nd6c797c4  2026-11-18 03:38\nended after 12 ms, at 1794973113450\n";
        let printed = "task 01a1ecbc-1d0a-744c-9f69-bd84c003cbff 2027-01-01 00:00:00\nbd84c003cbff 2027-01-01 00:00\nended after 1.5 s, at 1794973113451";
        assert!(is_shown(shown, printed));
        assert!(!is_shown(shown, &printed.replace("ended", "failed")));
        assert!(!is_shown(shown, &printed.replace("at 1", "at x1")));
        assert!(!is_shown(shown, "task"));
    }

    #[test]
    fn an_ellipsis_stands_for_any_text_or_any_lines() {
        assert!(is_shown("one\n…\nlast\n", "one\ntwo\nthree\nlast\n"));
        assert!(is_shown("one\n…\nlast\n", "one\nlast\n"));
        assert!(!is_shown("one\n…\nlast\n", "one\ntwo\n"));
        assert!(is_shown("a … c\n", "a b b c"));
        assert!(!is_shown("a … c\n", "a b b"));
        assert!(!is_shown("a\n", "a\nb\n"));
    }
}
