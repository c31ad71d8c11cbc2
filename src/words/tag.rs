//! Sentences about tags in files.

use super::number::{counted, plural};
use crate::domain::tag::{Present, TagRefusal};

/// Longer lists are cut after this many tags or lines.
const NAMED: usize = 20;

/// Explains why a file was not changed, and what to do.
pub fn tag_refusal(refusal: &TagRefusal) -> String {
    match refusal {
        TagRefusal::Absent { tag, present } => {
            format!("{tag} is not in the file; {}", tags_now(present))
        }
        TagRefusal::NotOnLine { tag, line, present } => {
            format!("{tag} is not on line {line}; {}", tags_now(present))
        }
        TagRefusal::Mention {
            tag,
            lines,
            present,
        } => format!(
            "{tag} on {} is in code, in a comment or escaped, so it is not a tag; {}",
            line_numbers(lines),
            tags_now(present)
        ),
        TagRefusal::Several { tag, lines } => format!(
            "{tag} occurs more than once, on {}; choose a line",
            line_numbers(lines)
        ),
        TagRefusal::Twice { tag, line } => {
            format!("{tag} occurs more than once on line {line}; keep only one there")
        }
        TagRefusal::AlreadyThere { tag, line, present } => {
            format!("{tag} is already on line {line}; {}", tags_now(present))
        }
        TagRefusal::Same { tag } => {
            format!("{tag} cannot be swapped for itself; name two different tags")
        }
        TagRefusal::NoSuchLine { line, count } => {
            format!(
                "line {line} does not exist; the file has {}",
                counted(*count, "line")
            )
        }
        TagRefusal::Code { line } => format!(
            "line {line} belongs to code or a comment, where tags do not count; choose another line"
        ),
        TagRefusal::Utf16 => "the file is UTF-16; save it as UTF-8 first".to_owned(),
    }
}

pub fn tags_now(Present(tags): &Present) -> String {
    if tags.is_empty() {
        return "the file has no tags now".to_owned();
    }
    let named: Vec<_> = tags
        .iter()
        .take(NAMED)
        .map(|(tag, line)| format!("{tag} (line {line})"))
        .collect();
    let named = named.join(", ");
    match tags.len().saturating_sub(NAMED) {
        0 => format!("the file now has {named}"),
        more => format!("the file now has {named} and {more} more"),
    }
}

fn line_numbers(lines: &[usize]) -> String {
    let numbers: Vec<_> = lines.iter().take(NAMED).map(usize::to_string).collect();
    let noun = plural(lines.len(), "line");
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
                "#a is not in the file; the file has no tags now",
            ),
            (
                TagRefusal::NotOnLine {
                    tag: a(),
                    line: 3,
                    present: present(2),
                },
                "#a is not on line 3; the file now has #t1 (line 1), #t2 (line 2)",
            ),
            (
                TagRefusal::Mention {
                    tag: a(),
                    lines: vec![1],
                    present: present(1),
                },
                "#a on line 1 is in code, in a comment or escaped, so it is not a tag; the file now has #t1 (line 1)",
            ),
            (
                TagRefusal::Several {
                    tag: a(),
                    lines: vec![1, 2],
                },
                "#a occurs more than once, on lines 1, 2; choose a line",
            ),
            (
                TagRefusal::Twice { tag: a(), line: 2 },
                "#a occurs more than once on line 2; keep only one there",
            ),
            (
                TagRefusal::AlreadyThere {
                    tag: a(),
                    line: 1,
                    present: present(1),
                },
                "#a is already on line 1; the file now has #t1 (line 1)",
            ),
            (
                TagRefusal::Same { tag: a() },
                "#a cannot be swapped for itself; name two different tags",
            ),
            (
                TagRefusal::NoSuchLine { line: 2, count: 1 },
                "line 2 does not exist; the file has 1 line",
            ),
            (
                TagRefusal::Code { line: 7 },
                "line 7 belongs to code or a comment, where tags do not count; choose another line",
            ),
        ] {
            assert_eq!(tag_refusal(&refusal), sentence);
        }
    }

    #[test]
    fn long_lists_are_marked_as_cut() {
        assert!(tags_now(&present(20)).ends_with("#t20 (line 20)"));
        assert!(tags_now(&present(23)).ends_with("#t20 (line 20) and 3 more"));
        let lines: Vec<_> = (1..=21).collect();
        assert!(line_numbers(&lines).ends_with("19, 20, …"));
    }
}
