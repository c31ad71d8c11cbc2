//! Tags in the text of a paragraph or heading, as opposed to mentions.

use std::collections::HashMap;

use super::name::{MAX_WORD, Tag, is_tag_byte};
use super::occurrence::{Occurrence, Place};

/// The text of a line, or of a part of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub line: usize,
    pub start: usize,
    pub end: usize,
}

/// Appends the tags of a paragraph, given by its lines. Returns the first line that begins with `beginning` outside code.
///
/// Code spans and comments may continue over line ends, but not beyond the paragraph; an unclosed one is text. The search
/// for closers only moves forward, so the total time is linear.
pub(super) fn read(
    bytes: &[u8],
    segments: &[Segment],
    beginning: &[u8],
    found: &mut Vec<Occurrence>,
) -> Option<Segment> {
    let mut closers = Closers::of(bytes, segments);
    let mut first = None;
    // Everything before this offset has been read, or is code.
    let mut resume = 0;
    for segment in segments {
        if first.is_none()
            && segment.start >= resume
            && bytes[segment.start..segment.end].starts_with(beginning)
        {
            first = Some(*segment);
        }
        let mut at = segment.start.max(resume);
        while at < segment.end {
            at = match bytes[at] {
                b'\\' => at + 2,
                b'`' => {
                    let length = run(bytes, at, segment.end);
                    let after = at + length;
                    closers.of_code(length, after).unwrap_or(after)
                }
                b'<' if bytes[at..segment.end].starts_with(b"<!--") => {
                    let after = at + 4;
                    closers.of_comment(after).unwrap_or(after)
                }
                b'#' => match tag(bytes, *segment, at) {
                    Some(end) => {
                        let word = str::from_utf8(&bytes[at + 1..end]).unwrap_or_default();
                        found.push(Occurrence {
                            tag: Tag::of_word(word),
                            line: segment.line,
                            range: at..end,
                            place: Place::Inline,
                        });
                        end
                    }
                    None => at + 1,
                },
                _ => at + 1,
            };
        }
        resume = at;
    }
    first
}

/// Counts consecutive backticks.
fn run(bytes: &[u8], start: usize, end: usize) -> usize {
    bytes[start..end]
        .iter()
        .take_while(|byte| **byte == b'`')
        .count()
}

/// Returns the end of the tag that starts at this `#`, if there is one.
fn tag(bytes: &[u8], segment: Segment, at: usize) -> Option<usize> {
    let before = &bytes[segment.start..at];
    let begins = match before.last() {
        None => true,
        // The target of a link within the page.
        Some(b'(') => !before.ends_with(b"]("),
        Some(byte) => {
            byte.is_ascii_whitespace()
                || matches!(byte, b'[' | b'{' | b',' | b';' | b':' | b'|' | b'*')
        }
    };
    let rest = &bytes[at + 1..segment.end];
    let length = rest
        .iter()
        .take(MAX_WORD + 1)
        .take_while(|byte| is_tag_byte(**byte))
        .count();
    let is_word = (1..=MAX_WORD).contains(&length) && rest[0].is_ascii_alphanumeric();
    (begins && is_word && ends(&rest[length..])).then_some(at + 1 + length)
}

/// Whether a tag may end before this text, instead of being part of a longer word: `#a/b`, `#a#b`, `#1.5`, `#größe`.
fn ends(rest: &[u8]) -> bool {
    match rest {
        [b'/' | b'#', ..] => false,
        [b'.', next, ..] => !next.is_ascii_alphanumeric(),
        [byte, ..] if !byte.is_ascii() => !begins_with_letter(&rest[..rest.len().min(4)]),
        _ => true,
    }
}

/// Whether the bytes begin with a letter or digit in UTF-8.
fn begins_with_letter(bytes: &[u8]) -> bool {
    let valid = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.starts_with(char::is_alphanumeric)
}

/// The possible ends of code spans and comments in a paragraph.
#[derive(Debug, Default)]
struct Closers {
    /// The offsets of backtick runs by length, in reverse order.
    runs: HashMap<usize, Vec<usize>>,
    /// The offsets of `-->`, in reverse order.
    comments: Vec<usize>,
}

impl Closers {
    fn of(bytes: &[u8], segments: &[Segment]) -> Self {
        let mut closers = Self::default();
        for segment in segments.iter().rev() {
            let text = &bytes[segment.start..segment.end];
            let mut behind = segment.end;
            for at in memchr::memrchr_iter(b'`', text) {
                let at = segment.start + at;
                if at >= behind {
                    continue;
                }
                let begin = text[..at - segment.start]
                    .iter()
                    .rposition(|byte| *byte != b'`')
                    .map_or(segment.start, |before| segment.start + before + 1);
                closers.runs.entry(at + 1 - begin).or_default().push(begin);
                behind = begin;
            }
            closers
                .comments
                .extend(memchr::memmem::rfind_iter(text, b"-->").map(|at| segment.start + at));
        }
        closers
    }

    /// Returns the end of a code span whose opening run has this length and ends at `from`.
    fn of_code(&mut self, length: usize, from: usize) -> Option<usize> {
        next(self.runs.get_mut(&length)?, from).map(|at| at + length)
    }

    fn of_comment(&mut self, from: usize) -> Option<usize> {
        next(&mut self.comments, from).map(|at| at + 3)
    }
}

/// Returns the first offset at or after `from`, and drops those before it.
fn next(places: &mut Vec<usize>, from: usize) -> Option<usize> {
    while places.last().is_some_and(|place| *place < from) {
        places.pop();
    }
    places.last().copied()
}
