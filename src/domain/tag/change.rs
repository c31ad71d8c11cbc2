//! Adding, removing and swapping tags in the bytes of a file.
//!
//! The result of a change is scanned again. The change is refused unless the result has the requested tags and all other
//! tags are unchanged.

use std::ops::Range;

use super::blocks::TAGS;
use super::lines::{BYTE_ORDER_MARK, ending};
use super::name::Tag;
use super::occurrence::{Occurrence, Place};
use super::refusal::{Present, TagRefusal};
use super::scan::{Scan, scan};

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub bytes: Vec<u8>,
    /// The changed line, from 1.
    pub line: usize,
}

/// Adds all tags or none: to the end of a line, or to the Tags line by default. A missing Tags line is created below the
/// first heading or at the top.
pub fn add_tags(bytes: &[u8], tags: &[Tag], line: Option<usize>) -> Result<Changed, TagRefusal> {
    let scan = scan_supported(bytes)?;
    let line = line.map(|line| check_line(&scan, line)).transpose()?;
    let tags_line = scan.tags_line.as_ref().map(|found| found.line);
    if let Some(line) = line.or(tags_line) {
        for (nth, tag) in tags.iter().enumerate() {
            let is_there = scan.on_line(line).iter().any(|found| found.tag == *tag);
            if is_there || tags[..nth].contains(tag) {
                return Err(TagRefusal::AlreadyThere {
                    tag: tag.clone(),
                    line,
                    present: Present::of(&scan),
                });
            }
        }
    }
    let words: Vec<_> = tags.iter().map(Tag::to_string).collect();
    let words = words.join(" ");
    let (at, text, line) = match line.or(tags_line) {
        Some(line) => at_line_end(&scan, line, &words),
        None => new_tags_line(&scan, &words),
    };
    let changed = replace_range(bytes, at..at, &text);
    let inserted = at..at + text.len();
    let after = self::scan(&changed);
    let (new, old): (Vec<_>, Vec<_>) = after
        .occurrences
        .iter()
        .partition(|found| inserted.contains(&found.range.start));
    let has_all = new.iter().map(|found| &found.tag).eq(tags);
    let keeps = old.iter().map(|found| (&found.tag, found.place)).eq(scan
        .occurrences
        .iter()
        .map(|found| (&found.tag, found.place)));
    if !(has_all && keeps) {
        return Err(TagRefusal::Code { line });
    }
    Ok(Changed {
        bytes: changed,
        line,
    })
}

/// Removes all tags or none, each with one separating space.
///
/// Without a line, a tag is removed from the Tags line; if it is not there, from the text, where it must be on one line
/// only.
pub fn remove_tags(bytes: &[u8], tags: &[Tag], line: Option<usize>) -> Result<Changed, TagRefusal> {
    let scan = scan_supported(bytes)?;
    let mut changed = Changed {
        bytes: bytes.to_vec(),
        line: line.unwrap_or(1),
    };
    // Search in the original file, so that a refusal describes it. Removing a tag moves no line.
    let mut lines = Vec::new();
    for tag in tags {
        lines.push(locate(&scan, tag, line)?[0].line);
    }
    for (tag, line) in tags.iter().zip(lines) {
        // One by one, because the separator of a tag depends on its neighbours.
        while let Some(next) = remove_first(&changed.bytes, tag, line)? {
            changed = next;
        }
    }
    Ok(changed)
}

/// Removes the first occurrence of the tag on the line, if there is one.
fn remove_first(bytes: &[u8], tag: &Tag, line: usize) -> Result<Option<Changed>, TagRefusal> {
    let scan = scan(bytes);
    let mut on_line = scan.on_line(line).iter();
    let Some(found) = on_line.find(|found| found.tag == *tag) else {
        return Ok(None);
    };
    let bytes = replace_range(bytes, range_with_separator(&scan, found), b"");
    let kept = scan.occurrences.iter().filter(|one| *one != found);
    let left = self::scan(&bytes).occurrences;
    if left.iter().map(|one| &one.tag).eq(kept.map(|one| &one.tag)) {
        Ok(Some(Changed { bytes, line }))
    } else {
        Err(TagRefusal::Code { line })
    }
}

/// Swaps one tag for another without changing any other byte.
///
/// Without a line, the tag on the Tags line is swapped; if it is not there, the tag in the text, where it must be unique.
pub fn swap_tag(
    bytes: &[u8],
    old: &Tag,
    new: &Tag,
    line: Option<usize>,
) -> Result<Changed, TagRefusal> {
    if old == new {
        return Err(TagRefusal::Same { tag: old.clone() });
    }
    let scan = scan_supported(bytes)?;
    let found = locate(&scan, old, line)?;
    let line = found[0].line;
    if found.len() > 1 {
        return Err(TagRefusal::Twice {
            tag: old.clone(),
            line,
        });
    }
    if scan.on_line(line).iter().any(|one| one.tag == *new) {
        return Err(TagRefusal::AlreadyThere {
            tag: new.clone(),
            line,
            present: Present::of(&scan),
        });
    }
    Ok(Changed {
        bytes: replace_range(bytes, found[0].range.clone(), new.to_string().as_bytes()),
        line,
    })
}

/// Scans a file, unless its encoding represents tags by other bytes.
fn scan_supported(bytes: &[u8]) -> Result<Scan<'_>, TagRefusal> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if bytes.contains(&0) => Err(TagRefusal::Utf16),
        _ => Ok(scan(bytes)),
    }
}

fn check_line(scan: &Scan<'_>, line: usize) -> Result<usize, TagRefusal> {
    match scan.line_range(line) {
        Some(_) => Ok(line),
        None => Err(TagRefusal::NoSuchLine {
            line,
            count: scan.line_count(),
        }),
    }
}

/// Finds the occurrences of a tag on the selected line; the result is never empty.
fn locate<'a>(
    scan: &'a Scan<'_>,
    tag: &Tag,
    line: Option<usize>,
) -> Result<Vec<&'a Occurrence>, TagRefusal> {
    let everywhere = scan.occurrences.iter().filter(|found| found.tag == *tag);
    if let Some(line) = line {
        let line = check_line(scan, line)?;
        let found: Vec<_> = everywhere.filter(|found| found.line == line).collect();
        return if !found.is_empty() {
            Ok(found)
        } else if scan.mentions(tag).contains(&line) {
            Err(mention(scan, tag, vec![line]))
        } else {
            Err(TagRefusal::NotOnLine {
                tag: tag.clone(),
                line,
                present: Present::of(scan),
            })
        };
    }
    let (on_tags_line, inline): (Vec<_>, Vec<_>) =
        everywhere.partition(|found| found.place == Place::TagsLine);
    let found = if on_tags_line.is_empty() {
        inline
    } else {
        on_tags_line
    };
    let mut lines: Vec<_> = found.iter().map(|found| found.line).collect();
    lines.dedup();
    match lines.len() {
        1 => Ok(found),
        0 => match scan.mentions(tag) {
            lines if lines.is_empty() => Err(TagRefusal::Absent {
                tag: tag.clone(),
                present: Present::of(scan),
            }),
            lines => Err(mention(scan, tag, lines)),
        },
        _ => Err(TagRefusal::Several {
            tag: tag.clone(),
            lines,
        }),
    }
}

fn mention(scan: &Scan<'_>, tag: &Tag, lines: Vec<usize>) -> TagRefusal {
    TagRefusal::Mention {
        tag: tag.clone(),
        lines,
        present: Present::of(scan),
    }
}

/// Returns the position and the text to insert at the end of a line. Trailing white space stays last, because it may be a
/// hard line break.
fn at_line_end(scan: &Scan<'_>, line: usize, words: &str) -> (usize, Vec<u8>, usize) {
    let range = scan.line_range(line).unwrap_or_default();
    let text = scan.bytes()[range.clone()].trim_ascii_end();
    let gap = if text.is_empty() { "" } else { " " };
    let text_end = range.start + text.len();
    (text_end, format!("{gap}{words}").into_bytes(), line)
}

/// Returns the position and the text to insert for a new Tags line, separated from the following text.
fn new_tags_line(scan: &Scan<'_>, words: &str) -> (usize, Vec<u8>, usize) {
    let bytes = scan.bytes();
    let above = match &scan.heading {
        Some(heading) => heading.last_line,
        None => scan.front_matter,
    };
    let before = scan.line_range(above);
    let own = before.clone().or_else(|| scan.line_range(1));
    let end = match own.map(|range| ending(bytes, range.end)) {
        None | Some([]) => b"\n",
        Some(end) => end,
    };
    let mut text = [TAGS, b" ", words.as_bytes()].concat();
    let at = match before {
        Some(range) => match ending(bytes, range.end) {
            // The last line has no line ending, so the new last line gets none.
            [] => {
                text = [end, &text].concat();
                return (range.end, text, above + 1);
            }
            ended => range.end + ended.len(),
        },
        None if bytes.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
        None => 0,
    };
    text.extend_from_slice(end);
    let next = scan.line_range(above + 1).unwrap_or_default();
    if !bytes[next].trim_ascii().is_empty() {
        text.extend_from_slice(end);
    }
    (at, text, above + 1)
}

/// Returns the range of a tag with its separator: the space before it, or after it at the beginning of a line; on the
/// Tags line, a comma after it. A tag alone on its line has none.
fn range_with_separator(scan: &Scan<'_>, found: &Occurrence) -> Range<usize> {
    let bytes = scan.bytes();
    let line = scan.line_range(found.line).unwrap_or_default();
    let Range { start, end } = found.range.clone();
    let (before, after) = (&bytes[line.start..start], &bytes[end..line.end]);
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_comma = |byte: Option<&u8>| matches!(byte, Some(b',' | b';'));
    if before.trim_ascii().is_empty() && after.trim_ascii().is_empty() {
        start..end
    } else if found.place == Place::TagsLine && is_comma(after.first()) {
        let space = usize::from(is_space(after.get(1)));
        start..end + 1 + space
    } else if is_space(before.last()) {
        start - 1..end
    } else if is_space(after.first()) {
        start..end + 1
    } else {
        start..end
    }
}

fn replace_range(bytes: &[u8], range: Range<usize>, by: &[u8]) -> Vec<u8> {
    [&bytes[..range.start], by, &bytes[range.end..]].concat()
}
