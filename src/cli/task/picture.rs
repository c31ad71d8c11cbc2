//! `chorus task tree --mermaid` and `--dot`: a chain of tasks as the source of a picture.
//!
//! Descriptions are untrusted: every character that could have a meaning in the source of the picture is escaped.

use std::fmt::Write;

use super::tree::{ending, not_shown};
use crate::cli::ui::one_line;
use crate::domain::{TaskTree, Text, Timestamp};

/// The limit for a description, in bytes.
const SHOWN: usize = 80;

pub(super) fn mermaid(tree: &TaskTree, asked: &str, now: Timestamp) -> String {
    let mut lines = vec!["flowchart TD".to_owned()];
    for task in numbered(tree) {
        let Numbered {
            number, task: of, ..
        } = task;
        let label: Vec<_> = label(of, now).iter().map(|line| in_mermaid(line)).collect();
        lines.push(format!("    t{number}[\"{}\"]", label.join("<br/>")));
        if let Some(parent) = task.parent {
            lines.push(format!("    t{parent} -->|{}| t{number}", task.door()));
        }
        if of.id.as_str() == asked {
            lines.push(format!("    style t{number} stroke-width:3px"));
        }
    }
    lines.join("\n")
}

pub(super) fn dot(tree: &TaskTree, asked: &str, now: Timestamp) -> String {
    let mut lines = vec![
        "digraph chain {".to_owned(),
        "    node [shape=box];".to_owned(),
    ];
    for task in numbered(tree) {
        let Numbered {
            number, task: of, ..
        } = task;
        let label: Vec<_> = label(of, now).iter().map(|line| in_dot(line)).collect();
        let width = if of.id.as_str() == asked { 3 } else { 1 };
        lines.push(format!(
            "    t{number} [label=\"{}\", penwidth={width}];",
            label.join("\\n")
        ));
        if let Some(parent) = task.parent {
            lines.push(format!(
                "    t{parent} -> t{number} [label=\"{}\"];",
                task.door()
            ));
        }
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// A task and its number in the picture.
struct Numbered<'a> {
    number: usize,
    parent: Option<usize>,
    task: &'a TaskTree,
}

impl Numbered<'_> {
    /// Returns the word for the kind of the first hand-off; `created` without one.
    fn door(&self) -> &'static str {
        let first = self.task.handoffs.first();
        first.map_or("created", |handoff| handoff.mode.as_str())
    }
}

/// Numbers the tasks of a tree, parents first.
fn numbered(tree: &TaskTree) -> Vec<Numbered<'_>> {
    let mut found: Vec<Numbered> = Vec::new();
    let mut left = vec![(None, tree)];
    while let Some((parent, task)) = left.pop() {
        let number = found.len();
        found.push(Numbered {
            number,
            parent,
            task,
        });
        left.extend(
            task.children
                .iter()
                .rev()
                .map(|child| (Some(number), child)),
        );
    }
    found
}

/// Returns the lines of a box: description, status and agents.
fn label(task: &TaskTree, now: Timestamp) -> Vec<String> {
    let description = Text::lossy(one_line(task.description.as_str()));
    let mut lines = vec![
        description.beginning(SHOWN).into_string(),
        task.status.name().as_str().to_owned(),
    ];
    lines.extend(task.handoffs.iter().map(|handoff| {
        let mut parts = vec![handoff.agent_name.to_string(), ending(handoff, now)];
        parts.extend(handoff.cost_usd.map(|cost| format!("${cost:.4}")));
        parts.join(", ")
    }));
    lines.extend(not_shown(task));
    lines
}

/// Escapes text for a quoted label of Mermaid. Characters other than letters, digits and harmless ones become `#N;`.
fn in_mermaid(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '-' | '_' | '…') {
            out.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out
}

/// Escapes text for a quoted label of Graphviz, which interprets backslashes and HTML entities.
fn in_dot(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree(description: &str) -> TaskTree {
        let text = serde_json::Value::from(description);
        let handoff = r#"{"id": "h", "agentName": "end", "fromAgent": null, "mode": "transfer", "startedAt": 0,
            "completedAt": 1500, "outcome": "timed_out", "costUsd": 0.5}"#;
        let task = |id: &str, children: &str| {
            format!(
                r#"{{"id": "{id}", "description": {text}, "status": {{"type": "failed", "message": {text}}},
                "createdAt": 0, "currentAgent": null, "children": [{children}], "handoffs": [{handoff}]}}"#
            )
        };
        let below = [task("b", &task("c", "")), task("d", "")].join(",");
        serde_json::from_str(&task("a", &below)).unwrap()
    }

    fn shown(description: &str) -> String {
        Text::lossy(one_line(description))
            .beginning(SHOWN)
            .into_string()
    }

    /// Skips `t` and a number.
    fn after_node(text: &str) -> Option<&str> {
        let rest = text
            .strip_prefix('t')?
            .trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() + 1 < text.len()).then_some(rest)
    }

    /// Reads a label of Mermaid up to its closing quote as Mermaid does: the first quote closes, and `#N;` is a character.
    fn mermaid_label(text: &str) -> Option<(String, &str)> {
        let (label, rest) = text.split_once('"')?;
        let mut read = String::new();
        for (place, line) in label.split("<br/>").enumerate() {
            if place > 0 {
                read.push('\n');
            }
            let mut parts = line.split('#');
            read += parts.next()?;
            for part in parts {
                let (number, plain) = part.split_once(';')?;
                read.push(char::from_u32(number.parse().ok()?)?);
                read += plain;
            }
            let is_plain = |c: char| c.is_alphanumeric() || " .,-_…#;".contains(c);
            if !line.chars().all(is_plain) {
                return None;
            }
        }
        Some((read, rest))
    }

    /// Reads a label of Graphviz up to the quote that closes it.
    fn dot_label(text: &str) -> Option<(String, &str)> {
        let mut read = String::new();
        let mut rest = text.char_indices();
        while let Some((place, c)) = rest.next() {
            match c {
                '"' => return Some((read, &text[place + 1..])),
                '\\' => match rest.next()?.1 {
                    'n' => read.push('\n'),
                    c @ ('"' | '\\') => read.push(c),
                    _ => return None,
                },
                '&' if text[place..].starts_with("&amp;") => {
                    read.push('&');
                    rest.nth(3)?;
                }
                '&' => return None,
                c if c.is_control() => return None,
                c => read.push(c),
            }
        }
        None
    }

    fn check_mermaid(description: &str) {
        let picture = mermaid(&tree(description), "c", Timestamp::default());
        let mut lines = picture.split('\n');
        assert_eq!(lines.next(), Some("flowchart TD"));
        let (mut nodes, mut edges, mut styles) = (0, 0, 0);
        for line in lines {
            let statement = line.strip_prefix("    ").expect("is indented");
            if let Some(rest) = statement.strip_prefix("style ") {
                assert_eq!(after_node(rest), Some(" stroke-width:3px"), "{line}");
                styles += 1;
            } else if let Some(label) = after_node(statement).unwrap().strip_prefix("[\"") {
                let (read, rest) = mermaid_label(label).unwrap_or_else(|| panic!("{line}"));
                assert_eq!(rest, "]", "{line}");
                let description = shown(description);
                let label = [
                    description.as_str(),
                    "failed",
                    "end, timed out after 1 s, $0.5000",
                ];
                assert_eq!(read, label.join("\n"));
                nodes += 1;
            } else {
                let rest = after_node(statement).unwrap();
                let to = rest.strip_prefix(" -->|transfer| ").unwrap();
                assert_eq!(after_node(to), Some(""), "{line}");
                edges += 1;
            }
        }
        assert_eq!((nodes, edges, styles), (4, 3, 1));
    }

    fn check_dot(description: &str) {
        let picture = dot(&tree(description), "c", Timestamp::default());
        let lines: Vec<_> = picture.split('\n').collect();
        let ["digraph chain {", "    node [shape=box];", lines @ .., "}"] = &lines[..] else {
            panic!("{picture}");
        };
        assert_eq!(lines.len(), 4 + 3);
        for line in lines {
            let statement = after_node(line.strip_prefix("    ").unwrap()).unwrap();
            if let Some(to) = statement.strip_prefix(" -> ") {
                assert_eq!(after_node(to), Some(" [label=\"transfer\"];"), "{line}");
                continue;
            }
            let label = statement.strip_prefix(" [label=\"").unwrap();
            let (read, rest) = dot_label(label).unwrap_or_else(|| panic!("{line}"));
            assert!(
                matches!(rest, ", penwidth=1];" | ", penwidth=3];"),
                "{line}"
            );
            assert_eq!(read.split('\n').next(), Some(shown(description).as_str()));
        }
    }

    #[test]
    fn odd_descriptions_do_not_break_the_picture() {
        for description in [
            "",
            "\"]; t0 --> t9[\"",
            "\\",
            "\\\"",
            "two\nlines\r\nand\tmore\u{2028}",
            "#quot; #35; # ; %%{init: {}}%% %% --> ==> -.-> |x| [a](b){c}<d>",
            "`markdown`",
            "<script>alert(1)</script><br/>",
            "&lt; &amp; &#34; &",
            "style x:y#z; classDef a:#b;",
            "end subgraph graph click href",
            "{ } | ; // /* */ -> -- = \\N \\G \\l",
            "ünïcödé 漢字 🎉 \u{202e}rtl\u{200d} \u{1b}[31m \u{fffe}",
        ] {
            check_mermaid(description);
            check_dot(description);
        }
        let long = "ä\"\\#".repeat(100_000);
        check_mermaid(&long);
        check_dot(&long);
    }

    proptest! {
        #[test]
        fn no_description_breaks_the_picture(description in any::<String>()) {
            let description = description.replace('\0', "");
            check_mermaid(&description);
            check_dot(&description);
        }

        #[test]
        fn no_run_of_special_characters_breaks_the_picture(description in "[\\[\\]\"#;\\\\<>&{}|`%n -]{0,60}") {
            check_mermaid(&description);
            check_dot(&description);
        }
    }
}
