//! Scans: the tags of a file, and the text around them.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use super::blocks::{Blocks, TAGS};
use super::heading::{Heading, TagsLine};
use super::lines::{self, front_matter};
use super::name::Tag;
use super::occurrence::{Occurrence, Place};
use crate::domain::{Effort, Priority};

/// How many bytes of a passage are given at most.
const PASSAGE: usize = 4 * 1024;

/// What the tags of a line say of its work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weights {
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// How much it is.
    pub effort: Option<Effort>,
}

/// A file that has been read for tags.
#[derive(Debug)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    lines: Vec<Range<usize>>,
    /// How many lines at the beginning are front matter.
    pub(super) front_matter: usize,
    /// The first heading.
    pub heading: Option<Heading>,
    /// The line that begins with `**Tags**:`. It is the first one between the first heading and the next, however many lines
    /// are in between; or, if there is none, the first one above.
    pub tags_line: Option<TagsLine>,
    /// All tags, in order.
    pub occurrences: Vec<Occurrence>,
}

/// Finds the tags of a Markdown file, whatever its encoding and line endings.
///
/// Code, comments and front matter hold mentions, not tags; see the module `blocks` for what is code. A tag begins a line or
/// stands behind white space, an opening bracket or one of `,;:|*`, but not as the target of a link (`](#here)`). It is no
/// tag if it is the beginning of another kind of word, such as `#a/b`, `#a#b`, `#1.5` or `#größe`.
pub fn scan(bytes: &[u8]) -> Scan<'_> {
    let lines = lines::lines(bytes);
    let front_matter = front_matter(bytes, &lines);
    let mut blocks = Blocks::new(bytes);
    for (number, line) in (1..).zip(&lines).skip(front_matter) {
        blocks.line(number, line.start, line.end);
    }
    blocks.end();
    let Blocks {
        heading,
        tags_line,
        found: mut occurrences,
        ..
    } = blocks;
    if let Some(tags_line) = &tags_line {
        let begin = occurrences.partition_point(|found| found.line < tags_line.line);
        occurrences[begin..]
            .iter_mut()
            .take_while(|found| found.line == tags_line.line)
            .for_each(|found| found.place = Place::TagsLine);
    }
    Scan {
        bytes,
        lines,
        front_matter,
        heading,
        tags_line,
        occurrences,
    }
}

impl<'a> Scan<'a> {
    /// Returns the bytes that were read.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns how many lines there are.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the bytes of a line without what ends it.
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        self.lines.get(line.checked_sub(1)?).cloned()
    }

    /// Returns a line as text. What is not UTF-8 is replaced.
    pub fn line_text(&self, line: usize) -> Cow<'a, str> {
        let range = self.line_range(line).unwrap_or_default();
        String::from_utf8_lossy(&self.bytes[range])
    }

    /// Returns the tags of a line.
    pub fn on_line(&self, line: usize) -> &[Occurrence] {
        let begin = self.occurrences.partition_point(|found| found.line < line);
        let end = self.occurrences.partition_point(|found| found.line <= line);
        &self.occurrences[begin..end]
    }

    /// Returns the lines that name a tag without having it: in code, in a comment, or escaped.
    pub fn mentions(&self, tag: &Tag) -> Vec<usize> {
        let needle = tag.to_string();
        let mut lines: Vec<_> = memchr::memmem::find_iter(self.bytes, needle.as_bytes())
            .filter(|at| {
                let next = self.bytes.get(at + needle.len());
                !next.is_some_and(|byte| super::name::is_tag_byte(*byte))
            })
            .filter(|at| {
                let starts = |found: &Occurrence| found.range.start;
                self.occurrences.binary_search_by_key(at, starts).is_err()
            })
            .map(|at| self.lines.partition_point(|line| line.end < at) + 1)
            .collect();
        lines.dedup();
        lines
    }

    /// Returns what the tags of a line say of its work; of several that contradict each other the first.
    pub fn weights(&self, line: usize) -> Weights {
        let mut weights = Weights::default();
        for found in self.on_line(line) {
            match found.tag {
                Tag::Priority(priority) => _ = weights.priority.get_or_insert(priority),
                Tag::Effort(effort) => _ = weights.effort.get_or_insert(effort),
                _ => {}
            }
        }
        weights
    }

    /// Returns what a line is about: its text without tags and marks; for the Tags line, the heading.
    pub fn title(&self, line: usize) -> String {
        if let (Some(tags_line), Some(heading)) = (&self.tags_line, &self.heading)
            && tags_line.line == line
        {
            return collapsed(&heading.text);
        }
        let Some(range) = self.line_range(line) else {
            return String::new();
        };
        let mut text = Vec::with_capacity(range.len());
        let mut at = range.start;
        for found in self.on_line(line) {
            text.extend_from_slice(&self.bytes[at..found.range.start]);
            at = found.range.end;
        }
        text.extend_from_slice(&self.bytes[at..range.end]);
        collapsed(without_marks(&String::from_utf8_lossy(&text)))
    }

    /// Returns the lines around a line, up to so many on either side.
    pub fn around(&self, line: usize, lines: usize) -> RangeInclusive<usize> {
        line.saturating_sub(lines).max(1)..=line.saturating_add(lines).min(self.lines.len())
    }

    /// Returns the paragraph or list item that a line is in: the lines around it until a blank one, up to so many on either side
    /// and 4 KiB. The line itself is there, if need be its beginning.
    pub fn passage(&self, line: usize, lines: usize) -> String {
        let Some(own) = self.line_range(line) else {
            return String::new();
        };
        let is_text = |line: &usize| {
            let range = self.line_range(*line).unwrap_or_default();
            !self.bytes[range].trim_ascii().is_empty()
        };
        let start_of = |line: usize| self.line_range(line).map_or(own.start, |range| range.start);
        let end_of = |line: usize| self.line_range(line).map_or(own.end, |range| range.end);
        let around = self.around(line, lines);
        let below = (line + 1..=*around.end())
            .take_while(is_text)
            .take_while(|line| end_of(*line) - own.start <= PASSAGE);
        let last = below.last().unwrap_or(line);
        let above = (*around.start()..line)
            .rev()
            .take_while(is_text)
            .take_while(|line| end_of(last) - start_of(*line) <= PASSAGE);
        let first = above.last().unwrap_or(line);
        let start = start_of(first);
        let end = end_of(last).min(start + PASSAGE);
        let text = String::from_utf8_lossy(&self.bytes[start..end]);
        text.replace("\r\n", "\n")
            .replace('\r', "\n")
            .trim()
            .to_owned()
    }
}

/// Puts text on one line.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes away what makes a line a quote, a list item, a heading, a task or a Tags line.
fn without_marks(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let before = rest;
        for mark in ["> ", "- ", "* ", "+ ", "[ ] ", "[x] ", "[X] "] {
            rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
        }
        for unfinished in [">", "-", "*", "+", "[ ]", "[x]", "[X]"] {
            rest = if rest == unfinished { "" } else { rest };
        }
        let counted = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if counted.len() < rest.len() && (counted.starts_with(". ") || counted.starts_with(") ")) {
            rest = counted[2..].trim_start();
        }
        let heading = rest.trim_start_matches('#');
        if heading.starts_with(' ') {
            rest = heading.trim_start();
        }
        let tags = str::from_utf8(TAGS).unwrap_or_default();
        rest = rest.strip_prefix(tags).unwrap_or(rest).trim_start();
        if rest.len() == before.len() {
            return rest;
        }
    }
}
