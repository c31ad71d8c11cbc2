//! Tests for tags and mentions, and for changes that leave all other bytes alone.

use crate::domain::{Effort, Priority};
use std::fmt::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn tag(text: &str) -> Tag {
    Tag::parse(text).unwrap()
}

/// Lists the tags of a file with their lines; `T` marks those on the Tags line.
fn tags(bytes: impl AsRef<[u8]>) -> String {
    let mut seen = String::new();
    for found in scan(bytes.as_ref()).occurrences {
        let place = match found.place {
            Place::TagsLine => "T",
            Place::Inline => "",
        };
        write!(seen, "{}{place}:{} ", found.line, found.tag).unwrap();
    }
    seen.trim_end().to_owned()
}

#[test]
fn a_tag_follows_white_space_or_a_bracket() {
    for (text, seen) in [
        ("#a", "1:#a"),
        ("x #needs-fix.", "1:#needs-fix"),
        (
            "(#a) [#b] {#c},#d;#e:#f|#g|**#h**",
            "1:#a 1:#b 1:#c 1:#d 1:#e 1:#f 1:#g 1:#h",
        ),
        ("x\t#a, #b; #c: #d! #e? \"#f\"", "1:#a 1:#b 1:#c 1:#d 1:#e"),
        ("a#b", ""),
        ("https://x/#needs-fix", ""),
        ("[here](#needs-fix)", ""),
        ("#needs-fix/else #a#b #1.5 #größe", ""),
        ("#needs-fix… #b— #c。", "1:#needs-fix 1:#b 1:#c"),
        ("\\#needs-x", ""),
        ("# Title", ""),
        ("## #a", "1:#a"),
        ("####### #a", "1:#a"),
        ("#Title", "1:#Title"),
        ("#", ""),
        ("##", ""),
        ("#-a #_b", ""),
        (
            "- #a\n* #b\n1. #c\n> #d\n>#e\n- [ ] #f",
            "1:#a 2:#b 3:#c 4:#d 5:#e 6:#f",
        ),
    ] {
        assert_eq!(tags(text), seen, "{text}");
    }
    assert_eq!(tags(b"#a\xff \xff #b #c\0"), "1:#a 1:#b 1:#c");
    assert_eq!(tags(format!("#{} #{}", "a".repeat(101), "b")), "1:#b");
}

#[test]
fn tags_in_code_and_comments_are_mentions() {
    for (text, seen) in [
        ("`#a` #b", "1:#b"),
        ("``#a ` #b`` #c", "1:#c"),
        ("`#a\n#b` #c", "2:#c"),
        ("` #a\n\n#b` #c", "1:#a 3:#b 3:#c"),
        ("`` #a ` #b", "1:#a 1:#b"),
        ("\\` #a ` #b", "1:#a 1:#b"),
        ("\\`` #a ` #b", "1:#b"),
        ("`\\` #a ` #b", "1:#a 1:#b"),
        ("```\n#a\n```\n#b", "4:#b"),
        ("````\n#a\n```\n#b\n`````\n#c", "6:#c"),
        ("~~~ x `\n#a\n```\n#b\n~~~\n#c", "6:#c"),
        ("   ```\n#a\n   ```\n#b", "4:#b"),
        ("```\n#a\n    ```\n#b\n```\n#c", "6:#c"),
        ("```\n#a", ""),
        ("``` #a ```\n#b", "2:#b"),
        ("text\n```\n#a\n```", ""),
        ("- x\n  ```\n  #a\n\n  #b\n  ```\n  #c", "7:#c"),
        ("- x\n  ```\n  #a\n#b", "4:#b"),
        ("> ```\n> #a\n#b", "3:#b"),
        ("1. - ~~~\n     #a\n     ~~~\n     #b", "4:#b"),
        ("x\n\n    #a\n\n#b", "5:#b"),
        ("x\n    #a", "2:#a"),
        ("    #a\n\t#b\nx", ""),
        ("- x\n\n  #a\n\n      #b", "3:#a"),
        ("- x\n\n      #b", ""),
        ("- x\n\n    #a", "3:#a"),
        ("-     #a\n- #b", "2:#b"),
        ("1.  x\n\n    #a", "3:#a"),
        ("# H\n    #a", ""),
        ("<!-- #a --> #b", "1:#b"),
        ("<!--\n\n#a\n--> #b\n#c", "4:#b 5:#c"),
        ("x <!-- #a\n#b --> #c", "2:#c"),
        ("x <!-- #a\n\n#b", "1:#a 3:#b"),
        ("<!-- #a", ""),
        ("<!-- a --> <!-- #b\n--> #c", "2:#c"),
        ("- <!-- #a\n#b", "2:#b"),
        ("---\ntags: #a\n---\n#b", "4:#b"),
        ("---\n#b", "2:#b"),
    ] {
        assert_eq!(tags(text), seen, "{text}");
        assert_eq!(tags(text.replace('\n', "\r\n")), seen, "{text} with CRLF");
        assert_eq!(tags(text.replace('\n', "\r")), seen, "{text} with CR");
        assert_eq!(tags(format!("\u{feff}{text}")), seen, "{text} with BOM");
    }
}

#[test]
fn the_tags_line_is_below_the_first_heading() {
    for (text, seen) in [
        ("# T\n**Tags**: #a #b\n#c", "2T:#a 2T:#b 3:#c"),
        ("# T\n\ntext\n\n**Tags**: #a\n", "5T:#a"),
        ("# T\n## U\n**Tags**: #a\n", "3:#a"),
        ("# T\n**Tags**: #a\n**Tags**: #b\n", "2T:#a 3:#b"),
        ("**Tags**: #a\ntext", "1T:#a"),
        ("**Tags**: #a\n# T\n", "1T:#a"),
        ("**Tags**: #a\n# T\n**Tags**: #b", "1:#a 3T:#b"),
        ("T\n===\n**Tags**: #a\n", "3T:#a"),
        ("# T\n**Tags**: #a\n---\n# U\n**Tags**: #b", "2T:#a 5:#b"),
        ("# T\n- **Tags**: #a\n> **Tags**: #b", "2:#a 3:#b"),
        ("# T\n```\n**Tags**: #a\n```\n**Tags**: #b", "5T:#b"),
        ("> # T\n\n**Tags**: #a", "3T:#a"),
        ("---\na: b\n---\n# T\n**Tags**:#a", "5T:#a"),
    ] {
        assert_eq!(tags(text), seen, "{text}");
    }
    let heading = |text: &'static str| {
        let heading = scan(text.as_bytes()).heading.unwrap();
        (heading.text, heading.line, heading.last_line)
    };
    assert_eq!(heading("x\n\n## A  b ##\n"), ("A  b".to_owned(), 3, 3));
    assert_eq!(heading("A\nb\n--\n"), ("A b".to_owned(), 1, 3));
    assert_eq!(heading("# C#\n"), ("C#".to_owned(), 1, 1));
}

#[test]
fn a_line_has_a_title_weights_and_a_passage() {
    let text = "# The  plan\n**Tags**: #needs-plan #P1 #L #P0\n\nIntro\n- [ ] Fix the #needs-fix parser #S\n  for good\n\n> 2. [x] ## Done (#done-x)\n";
    let scan = scan(text.as_bytes());
    assert_eq!(scan.title(2), "The plan");
    assert_eq!(scan.title(5), "Fix the parser");
    assert_eq!(scan.title(8), "Done ()");
    assert_eq!(scan.title(99), "");
    assert_eq!(
        scan.weights(2),
        Weights {
            priority: Some(Priority::P1),
            effort: Some(Effort::L)
        }
    );
    assert_eq!(scan.weights(5).effort, Some(Effort::S));
    assert_eq!(scan.weights(4), Weights::default());
    assert_eq!(
        scan.passage(5, 5),
        "Intro\n- [ ] Fix the #needs-fix parser #S\n  for good"
    );
    assert_eq!(scan.passage(5, 0), "- [ ] Fix the #needs-fix parser #S");
    assert_eq!(scan.around(2, 3), 1..=5);
    let long = format!("{}\n#a {}\n", "x\n".repeat(5000), "y".repeat(9000));
    let passage = self::scan(long.as_bytes()).passage(5002, 5000);
    assert!(passage.starts_with("#a y") && passage.len() <= 4096);
    assert_eq!(
        self::scan(b"`#a` #a\n`#a`\n\\#a #ab").mentions(&tag("a")),
        [1, 2, 3]
    );
}

fn text(changed: Result<Changed, TagRefusal>) -> Result<String, TagRefusal> {
    changed.map(|Changed { line, bytes }| format!("{line}:{}", String::from_utf8_lossy(&bytes)))
}

fn present<const N: usize>(tags: [(&str, usize); N]) -> Present {
    Present(tags.map(|(word, line)| (tag(word), line)).into())
}

#[test]
fn tags_are_added_to_the_tags_line_or_to_a_new_one() {
    let add = |before: &str| text(add_tags(before.as_bytes(), &[tag("a"), tag("P1")], None));
    for (before, after) in [
        ("# T\n**Tags**: #x  \ny", "2:# T\n**Tags**: #x #a #P1  \ny"),
        ("# T\n**Tags**:\r\ny", "2:# T\n**Tags**: #a #P1\r\ny"),
        ("# T\n\ny\n", "2:# T\n**Tags**: #a #P1\n\ny\n"),
        ("# T\r\ny\r\n", "2:# T\r\n**Tags**: #a #P1\r\n\r\ny\r\n"),
        ("# T", "2:# T\n**Tags**: #a #P1"),
        ("y\r\n# T", "3:y\r\n# T\n**Tags**: #a #P1"),
        ("T\n==\n", "3:T\n==\n**Tags**: #a #P1\n"),
        ("", "1:**Tags**: #a #P1\n"),
        ("y", "1:**Tags**: #a #P1\n\ny"),
        ("\u{feff}y\r\n", "1:\u{feff}**Tags**: #a #P1\r\n\r\ny\r\n"),
        (
            "---\nk: v\n---\n\ny",
            "4:---\nk: v\n---\n**Tags**: #a #P1\n\ny",
        ),
    ] {
        assert_eq!(add(before).as_deref(), Ok(after), "{before:?}");
    }
    let there = TagRefusal::AlreadyThere {
        tag: tag("P1"),
        line: 2,
        present: present([("P1", 2)]),
    };
    assert_eq!(add("# T\n**Tags**: #P1\n"), Err(there));
    assert_eq!(
        add_tags(b"\xff\xfe#\0", &[tag("a")], None),
        Err(TagRefusal::Utf16)
    );
}

#[test]
fn tags_are_added_to_the_end_of_a_line_but_not_in_code() {
    let add = |before: &str, line| text(add_tags(before.as_bytes(), &[tag("a")], Some(line)));
    assert_eq!(add("x\r\ny \r\n", 2).as_deref(), Ok("2:x\r\ny #a \r\n"));
    assert_eq!(add("x\n\ny", 2).as_deref(), Ok("2:x\n#a\ny"));
    for line in [0, 2] {
        let no_such_line = TagRefusal::NoSuchLine { line, count: 1 };
        assert_eq!(add("x", line), Err(no_such_line));
    }
    for (before, line) in [
        ("```\nx\n```\n#b", 2),
        ("```\nx\n```\n#b", 3),
        ("a `b\nc` d", 1),
        ("    x", 1),
    ] {
        assert_eq!(
            add(before, line),
            Err(TagRefusal::Code { line }),
            "{before:?}"
        );
    }
}

#[test]
fn removing_a_tag_removes_its_separator() {
    let remove = |before: &str, line| text(remove_tags(before.as_bytes(), &[tag("a")], line));
    for (before, after) in [
        ("# T\n**Tags**: #a\nx", "2:# T\n**Tags**:\nx"),
        ("**Tags**: #a #b", "1:**Tags**: #b"),
        ("**Tags**: #b #a", "1:**Tags**: #b"),
        ("**Tags**: #a, #b", "1:**Tags**: #b"),
        ("**Tags**: #b, #a", "1:**Tags**: #b,"),
        ("**Tags**: #a, #b #a #a", "1:**Tags**: #b"),
        ("x #a y", "1:x y"),
        ("#a y", "1:y"),
        ("- #a y", "1:- y"),
        ("(#a)", "1:()"),
        ("x\n#a y #a", "2:x\ny"),
    ] {
        assert_eq!(remove(before, None).as_deref(), Ok(after), "{before:?}");
    }
    assert_eq!(remove("#a\n#a", Some(2)).as_deref(), Ok("2:#a\n"));
    for (before, line, refusal) in [
        (
            "#a\n#a",
            None,
            TagRefusal::Several {
                tag: tag("a"),
                lines: vec![1, 2],
            },
        ),
        (
            "`#a` #b",
            None,
            TagRefusal::Mention {
                tag: tag("a"),
                lines: vec![1],
                present: present([("b", 1)]),
            },
        ),
        (
            "x",
            None,
            TagRefusal::Absent {
                tag: tag("a"),
                present: present([]),
            },
        ),
        (
            "#a\n#b",
            Some(2),
            TagRefusal::NotOnLine {
                tag: tag("a"),
                line: 2,
                present: present([("a", 1), ("b", 2)]),
            },
        ),
    ] {
        assert_eq!(remove(before, line), Err(refusal), "{before:?}");
    }
}

#[test]
fn a_swap_prefers_the_tags_line_to_the_text() {
    let swap =
        |before: &str, line| text(swap_tag(before.as_bytes(), &tag("a"), &tag("long"), line));
    for (before, after) in [
        ("# T\n**Tags**: #a\n#a", "2:# T\n**Tags**: #long\n#a"),
        ("# T\n**Tags**: #b\nx #a.", "3:# T\n**Tags**: #b\nx #long."),
    ] {
        assert_eq!(swap(before, None).as_deref(), Ok(after), "{before:?}");
    }
    assert_eq!(swap("#a\n#a", Some(2)).as_deref(), Ok("2:#a\n#long"));
    for (before, refusal) in [
        (
            "# T\n**Tags**: #a #a",
            TagRefusal::Twice {
                tag: tag("a"),
                line: 2,
            },
        ),
        (
            "**Tags**: #a #long",
            TagRefusal::AlreadyThere {
                tag: tag("long"),
                line: 1,
                present: present([("a", 1), ("long", 1)]),
            },
        ),
        (
            "#a\n#a",
            TagRefusal::Several {
                tag: tag("a"),
                lines: vec![1, 2],
            },
        ),
        (
            "#ab",
            TagRefusal::Absent {
                tag: tag("a"),
                present: present([("ab", 1)]),
            },
        ),
    ] {
        assert_eq!(swap(before, None), Err(refusal), "{before:?}");
    }
    assert_eq!(
        text(swap_tag(b"#a", &tag("a"), &tag("a"), None)),
        Err(TagRefusal::Same { tag: tag("a") })
    );
}

/// A megabyte of any input is read in a moment.
#[test]
fn a_scan_takes_linear_time() {
    let size = 1 << 20;
    let mut runs = String::new();
    let mut length = 1;
    while runs.len() < size {
        writeln!(runs, "{} x", "`".repeat(length)).unwrap();
        length += 1;
    }
    let mut hostile: Vec<String> = [
        "`",
        "`a",
        "#",
        "#a",
        "# ",
        "**Tags**:",
        "**Tags**:\n",
        "<!--",
        "<!-- -->",
        "-->",
        ">",
        "> ",
        "- ",
        "-\n",
        "\n",
        "\t",
        " ",
        "    x\n",
        "```\n",
        "~",
        "1. ",
        "* * a",
        "\\",
        "[",
        "](#",
        "=\n",
        "a\n",
        "\r",
        "- a\n\n",
        "_",
    ]
    .iter()
    .map(|part| part.repeat(size / part.len()))
    .collect();
    hostile.push(runs);
    hostile.push(format!(
        "{}{}",
        "> - ".repeat(size / 8),
        "\n".repeat(size / 2)
    ));
    hostile.push(format!(
        "{}**Tags**: x\n{}",
        "a\n".repeat(size / 4),
        "=\n".repeat(size / 4)
    ));
    for text in hostile {
        let start = Instant::now();
        let scan = scan(text.as_bytes());
        let _ = scan.mentions(&tag("a"));
        let took = start.elapsed();
        assert!(took < Duration::from_secs(5), "{:?} {took:?}", &text[..20]);
    }
}

/// Generates text that is likely to trigger the rules.
fn markdown() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        &b"# "[..],
        b"#a",
        b"#b",
        b"#needs-fix",
        b" ",
        b" ",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"**Tags**:",
        b"\n**Tags**: ",
        b"`",
        b"``",
        b"\n```\n",
        b"~~~",
        b"    ",
        b"\t",
        b"- ",
        b"1. ",
        b"> ",
        b"<!--",
        b"-->",
        b"---",
        b"===",
        b"\\",
        b"(",
        b")",
        b",",
        b"x",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\0",
        b".",
        "ö".as_bytes(),
        b"/",
    ]);
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_bytes_can_be_scanned(bytes: Vec<u8>) {
        let scan = scan(&bytes);
        for line in 0..scan.line_count() + 2 {
            let _ = (scan.title(line), scan.passage(line, 3), scan.weights(line));
        }
    }

    #[test]
    fn occurrences_have_the_right_range_and_line(bytes in markdown()) {
        let scan = scan(&bytes);
        let mut behind = 0;
        for found in &scan.occurrences {
            prop_assert!(found.range.start >= behind);
            behind = found.range.end;
            let written = found.tag.to_string();
            prop_assert_eq!(&bytes[found.range.clone()], written.as_bytes());
            let line = scan.line_range(found.line).unwrap();
            prop_assert!(line.start <= found.range.start && found.range.end <= line.end);
            let _ = (scan.title(found.line), scan.passage(found.line, 3));
        }
    }

    #[test]
    fn a_swap_changes_only_the_bytes_of_the_tag(bytes in markdown(), nth: prop::sample::Index) {
        let scan = scan(&bytes);
        if scan.occurrences.is_empty() {
            return Ok(());
        }
        let nth = nth.index(scan.occurrences.len());
        let found = &scan.occurrences[nth];
        if let Ok(changed) = swap_tag(&bytes, &found.tag, &tag("claimed-it"), Some(found.line)) {
            let (start, end) = (found.range.start, found.range.end);
            prop_assert_eq!(&changed.bytes, &[&bytes[..start], b"#claimed-it", &bytes[end..]].concat());
            let after: Vec<_> = self::scan(&changed.bytes).occurrences.into_iter().map(|found| found.tag).collect();
            let mut wanted: Vec<_> = scan.occurrences.iter().map(|found| found.tag.clone()).collect();
            wanted[nth] = tag("claimed-it");
            prop_assert_eq!(after, wanted);
            let back = swap_tag(&changed.bytes, &tag("claimed-it"), &found.tag, Some(found.line)).unwrap();
            prop_assert_eq!(back.bytes, bytes);
        } else {
            let same = scan.on_line(found.line).iter().filter(|other| other.tag == found.tag);
            prop_assert!(same.count() > 1);
        }
    }

    /// Except where `add_tags` creates the Tags line, which stays.
    #[test]
    fn removing_an_added_tag_restores_the_file(bytes in markdown(), line in prop::option::of(1..9_usize)) {
        let had_line = line.is_some() || scan(&bytes).tags_line.is_some();
        if let Ok(added) = add_tags(&bytes, &[tag("new")], line) {
            let removed = remove_tags(&added.bytes, &[tag("new")], Some(added.line)).unwrap();
            if had_line {
                prop_assert_eq!(removed.bytes, bytes);
            } else {
                prop_assert_eq!(tags(removed.bytes), tags(&added.bytes).replace(&format!("{}T:#new", added.line), "").trim().replace("  ", " "));
            }
        }
    }
}
