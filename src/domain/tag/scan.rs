//! Scans: the tags of a file with the text around them.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use super::blocks::{Blocks, TAGS};
use super::heading::{Heading, TagsLine};
use super::lines::{self, front_matter};
use super::name::Tag;
use super::occurrence::{Occurrence, Place};
use crate::domain::{Effort, Priority};

/// The limit of a passage in bytes.
const PASSAGE: usize = 4 * 1024;

/// The priority and the effort in the tags of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weights {
    pub priority: Option<Priority>,
    pub effort: Option<Effort>,
}

/// A file scanned for tags.
#[derive(Debug)]
pub struct Scan<'a> {
    bytes: &'a [u8],
    lines: Vec<Range<usize>>,
    /// The number of lines of front matter.
    pub(super) front_matter: usize,
    pub heading: Option<Heading>,
    /// The first line that begins with `**Tags**:` between the first heading and the next one; if there is none, the
    /// first one above.
    pub tags_line: Option<TagsLine>,
    pub occurrences: Vec<Occurrence>,
}

/// Finds the tags of a Markdown file in any encoding and with any line endings.
///
/// Code, comments and front matter hold mentions, not tags; the module `blocks` defines code. A tag begins a line or
/// follows white space, an opening bracket or one of `,;:|*`, but is not the target of a link (`](#here)`) and not the
/// beginning of a longer word such as `#a/b`, `#a#b`, `#1.5` or `#größe`.
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
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Excludes the line ending.
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        self.lines.get(line.checked_sub(1)?).cloned()
    }

    /// Replaces invalid UTF-8.
    pub fn line_text(&self, line: usize) -> Cow<'a, str> {
        let range = self.line_range(line).unwrap_or_default();
        String::from_utf8_lossy(&self.bytes[range])
    }

    pub fn on_line(&self, line: usize) -> &[Occurrence] {
        let begin = self.occurrences.partition_point(|found| found.line < line);
        let end = self.occurrences.partition_point(|found| found.line <= line);
        &self.occurrences[begin..end]
    }

    /// Returns the lines that mention a tag in code, in a comment or escaped.
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

    /// Returns the first priority and the first effort on a line.
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

    /// Returns the text of a line without tags and markers; for the Tags line, the heading.
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

    /// Returns the range of lines around a line.
    pub fn around(&self, line: usize, lines: usize) -> RangeInclusive<usize> {
        line.saturating_sub(lines).max(1)..=line.saturating_add(lines).min(self.lines.len())
    }

    /// Returns the paragraph or list item around a line, up to `lines` lines on either side and 4 KiB. It includes at
    /// least the beginning of the line itself.
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

/// Replaces white space, including line breaks, with single spaces.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes the markers of quotes, list items, headings, check boxes and the Tags line.
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
