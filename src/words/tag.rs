//! Words about tags in files.

use crate::domain::tag::{Present, TagRefusal};

/// How many tags or lines are named.
const NAMED: usize = 20;

/// Explains why a file keeps its tags, and what to do.
pub fn tag_refusal(refusal: &TagRefusal) -> String {
    match refusal {
        TagRefusal::Absent { tag, present } => {
            format!("{tag} is not there; {}", tags_now(present))
        }
        TagRefusal::NotOnLine { tag, line, present } => {
            format!("{tag} is not on line {line}; {}", tags_now(present))
        }
        TagRefusal::Mention {
            tag,
            lines,
            present,
        } => format!(
            "{tag} is only mentioned, in code or a comment on {}; {}",
            line_numbers(lines),
            tags_now(present)
        ),
        TagRefusal::Several { tag, lines } => format!(
            "{tag} stands more than once, on {}; say which line is meant",
            line_numbers(lines)
        ),
        TagRefusal::Twice { tag, line } => {
            format!("{tag} stands more than once on line {line}; leave one there")
        }
        TagRefusal::AlreadyThere { tag, line, present } => {
            format!("{tag} is already on line {line}; {}", tags_now(present))
        }
        TagRefusal::Same { tag } => {
            format!("{tag} cannot be swapped for itself; name two tags")
        }
        TagRefusal::NoSuchLine { line, count } => {
            format!("there is no line {line}; the file has {count}")
        }
        TagRefusal::Code { line } => format!(
            "line {line} is code, or part of its frame, where a tag would only be mentioned; choose another line"
        ),
        TagRefusal::Utf16 => "the file is UTF-16; save it as UTF-8 first".to_owned(),
    }
}

/// Lists the tags that a file has now.
pub fn tags_now(Present(tags): &Present) -> String {
    if tags.is_empty() {
        return "there are no tags now".to_owned();
    }
    let named: Vec<_> = tags
        .iter()
        .take(NAMED)
        .map(|(tag, line)| format!("{tag} (line {line})"))
        .collect();
    let named = named.join(", ");
    match tags.len().saturating_sub(NAMED) {
        0 => format!("now there are {named}"),
        more => format!("now there are {named} and {more} more"),
    }
}

fn line_numbers(lines: &[usize]) -> String {
    let numbers: Vec<_> = lines.iter().take(NAMED).map(usize::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let more = if lines.len() > NAMED { ", …" } else { "" };
    format!("{noun} {}{more}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tag::Tag;

    fn tag(word: &str) -> Tag {
        Tag::parse(word).unwrap()
    }

    fn present(count: usize) -> Present {
        let word = |line| (tag(&format!("t{line}")), line);
        Present((1..=count).map(word).collect())
    }

    #[test]
    fn every_refusal_names_the_tag_or_the_line() {
        let a = || tag("a");
        for (refusal, sentence) in [
            (
                TagRefusal::Absent {
                    tag: a(),
                    present: present(0),
                },
                "#a is not there; there are no tags now",
            ),
            (
                TagRefusal::NotOnLine {
                    tag: a(),
                    line: 3,
                    present: present(2),
                },
                "#a is not on line 3; now there are #t1 (line 1), #t2 (line 2)",
            ),
            (
                TagRefusal::Mention {
                    tag: a(),
                    lines: vec![1],
                    present: present(1),
                },
                "#a is only mentioned, in code or a comment on line 1; now there are #t1 (line 1)",
            ),
            (
                TagRefusal::Several {
                    tag: a(),
                    lines: vec![1, 2],
                },
                "#a stands more than once, on lines 1, 2; say which line is meant",
            ),
            (
                TagRefusal::Twice { tag: a(), line: 2 },
                "#a stands more than once on line 2; leave one there",
            ),
            (
                TagRefusal::AlreadyThere {
                    tag: a(),
                    line: 1,
                    present: present(1),
                },
                "#a is already on line 1; now there are #t1 (line 1)",
            ),
            (
                TagRefusal::Same { tag: a() },
                "#a cannot be swapped for itself; name two tags",
            ),
            (
                TagRefusal::NoSuchLine { line: 2, count: 1 },
                "there is no line 2; the file has 1",
            ),
            (
                TagRefusal::Code { line: 7 },
                "line 7 is code, or part of its frame, where a tag would only be mentioned; choose another line",
            ),
        ] {
            assert_eq!(tag_refusal(&refusal), sentence);
        }
    }

    #[test]
    fn long_lists_are_cut_and_say_so() {
        assert!(tags_now(&present(20)).ends_with("#t20 (line 20)"));
        assert!(tags_now(&present(23)).ends_with("#t20 (line 20) and 3 more"));
        let lines: Vec<_> = (1..=21).collect();
        assert!(line_numbers(&lines).ends_with("19, 20, …"));
    }
}
