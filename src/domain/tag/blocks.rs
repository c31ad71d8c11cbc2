//! The block structure of a Markdown file: which lines are text, and which are code.
//!
//! # How it works
//!
//! This is the first phase of CommonMark's own algorithm. Each line is matched against the open containers (quotes and
//! list items) and may then open new ones; the rest of the line is a heading, a fence or text. Lines of text are
//! collected to paragraphs, and tags are read when a paragraph ends. Code is
//!
//! - a fenced block, up to the closing fence or the end of its container or of the file,
//! - a line indented by four or more columns in its container, unless it continues a paragraph,
//! - a comment that begins a line, up to `-->`.
//!
//! Front matter is not Markdown and has no tags. Raw HTML other than comments is read as text.

use super::cursor::Cursor;
use super::heading::{Heading, TagsLine};
use super::inline::{self, Segment};
use super::occurrence::Occurrence;

/// The limit of nested containers, because each line is matched against all of them. Deeper markers are text.
const DEEPEST: usize = 32;

/// The indentation from which a line is code.
const CODE_INDENT: usize = 4;

pub(super) const TAGS: &[u8] = b"**Tags**:";

#[derive(Debug, Clone, Copy)]
enum Container {
    Quote,
    /// A list item with the indentation of its text.
    Item(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    None,
    Paragraph,
    Fence { mark: u8, length: usize },
    Comment,
}

/// Reads a file line by line.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    bytes: &'a [u8],
    containers: Vec<Container>,
    leaf: Leaf,
    /// The lines of the open paragraph.
    paragraph: Vec<Segment>,
    /// Whether one of them begins with `**Tags**:`.
    has_tags: bool,
    headings: usize,
    /// The first heading outside quotes and lists.
    pub heading: Option<Heading>,
    /// The Tags line below the first heading; if there is none, the one above it.
    pub tags_line: Option<TagsLine>,
    pub found: Vec<Occurrence>,
}

impl<'a> Blocks<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            containers: Vec::new(),
            leaf: Leaf::None,
            paragraph: Vec::new(),
            has_tags: false,
            headings: 0,
            heading: None,
            tags_line: None,
            found: Vec::new(),
        }
    }

    pub fn line(&mut self, line: usize, start: usize, end: usize) {
        let mut cursor = Cursor::new(self.bytes, start, end);
        let mut matched = self.match_containers(&mut cursor);
        let is_inside = matched == self.containers.len();
        match self.leaf {
            Leaf::Fence { mark, length } if is_inside => {
                if closes_fence(&cursor, mark, length) {
                    self.leaf = Leaf::None;
                }
                return;
            }
            Leaf::Comment if is_inside => {
                return self.comment(line, cursor.at, end);
            }
            Leaf::Fence { .. } | Leaf::Comment => self.leaf = Leaf::None,
            Leaf::None | Leaf::Paragraph => {}
        }
        if is_inside && self.underlines(&cursor) {
            return self.end_heading(line);
        }
        while let Some(container) = self.new_container(&mut cursor, matched) {
            self.close(matched);
            self.containers.push(container);
            matched += 1;
        }
        self.rest_of_line(cursor, matched, line, end);
    }

    /// Ends the open paragraph at the end of the file.
    pub fn end(&mut self) {
        self.end_paragraph();
    }

    /// Skips the markers of the open containers and returns the number of matched containers.
    fn match_containers(&self, cursor: &mut Cursor<'_>) -> usize {
        self.containers
            .iter()
            .take_while(|container| match container {
                Container::Quote => skip_quote(cursor),
                Container::Item(_) if cursor.is_blank() => true,
                Container::Item(width) if cursor.indent() >= *width => {
                    cursor.skip_columns(*width);
                    true
                }
                Container::Item(_) => false,
            })
            .count()
    }

    /// Skips the marker of a new quote or list item, if there is one.
    fn new_container(&self, cursor: &mut Cursor<'_>, matched: usize) -> Option<Container> {
        if matched >= DEEPEST || cursor.indent() >= CODE_INDENT {
            return None;
        }
        if skip_quote(cursor) {
            return Some(Container::Quote);
        }
        let mut ahead = *cursor;
        ahead.skip_indent();
        if is_thematic_break(ahead.rest()) {
            return None;
        }
        let (length, is_first) = list_marker(ahead.rest())?;
        let mut width = cursor.indent() + length;
        ahead.skip_bytes(length);
        let interrupts = self.leaf == Leaf::Paragraph && matched == self.containers.len();
        if interrupts && (!is_first || ahead.is_blank()) {
            return None;
        }
        let gap = match ahead.indent() {
            gap @ 1..=CODE_INDENT if !ahead.is_blank() => gap,
            _ => 1,
        };
        width += gap;
        ahead.skip_columns(gap);
        *cursor = ahead;
        Some(Container::Item(width))
    }

    /// Reads the rest of a line after its containers.
    fn rest_of_line(&mut self, mut cursor: Cursor<'a>, matched: usize, line: usize, end: usize) {
        if cursor.is_blank() {
            return self.close(matched);
        }
        let is_indented = cursor.indent() >= CODE_INDENT;
        cursor.skip_indent();
        let rest = cursor.rest();
        let segment = Segment {
            line,
            start: cursor.at,
            end,
        };
        if is_indented {
            if self.leaf == Leaf::Paragraph {
                self.gather(segment);
            } else {
                self.close(matched);
            }
        } else if let Some((mark, length)) = opening_fence(rest) {
            self.close(matched);
            self.leaf = Leaf::Fence { mark, length };
        } else if let Some(level) = heading_level(rest) {
            self.close(matched);
            self.paragraph.push(Segment {
                start: segment.start + level,
                ..segment
            });
            self.end_heading(line);
        } else if rest.starts_with(b"<!--") {
            self.close(matched);
            self.comment(line, segment.start + 4, end);
        } else if is_thematic_break(rest) {
            self.close(matched);
        } else {
            // Lazy continuation: text outside the containers of an open paragraph continues it.
            if self.leaf != Leaf::Paragraph {
                self.close(matched);
            }
            self.gather(segment);
        }
    }

    /// Reads the rest of a line inside a comment, and the text after the comment.
    fn comment(&mut self, line: usize, mut from: usize, end: usize) {
        while let Some(closing) = memchr::memmem::find(&self.bytes[from..end], b"-->") {
            let mut behind = Cursor::new(self.bytes, from + closing + 3, end);
            behind.skip_indent();
            if !behind.rest().starts_with(b"<!--") {
                self.leaf = Leaf::None;
                if !behind.is_blank() {
                    self.gather(Segment {
                        line,
                        start: behind.at,
                        end,
                    });
                }
                return;
            }
            from = behind.at + 4;
        }
        self.leaf = Leaf::Comment;
    }

    /// Adds a line to the open paragraph.
    fn gather(&mut self, segment: Segment) {
        self.leaf = Leaf::Paragraph;
        self.has_tags |= self.bytes[segment.start..segment.end].starts_with(TAGS);
        self.paragraph.push(segment);
    }

    /// Whether the line is the underline of a heading. A Tags line is never a heading: dashes below it are a rule.
    fn underlines(&self, cursor: &Cursor<'_>) -> bool {
        if self.leaf != Leaf::Paragraph || cursor.indent() >= CODE_INDENT {
            return false;
        }
        let text = cursor.rest().trim_ascii();
        let is_line = |mark: u8| text.iter().all(|byte| *byte == mark);
        !text.is_empty() && (is_line(b'=') || is_line(b'-')) && !self.has_tags
    }

    /// Closes the paragraph and all containers after the first `matched`.
    fn close(&mut self, matched: usize) {
        self.end_paragraph();
        self.containers.truncate(matched);
    }

    fn end_paragraph(&mut self) {
        self.leaf = Leaf::None;
        let tags = inline::read(self.bytes, &self.paragraph, TAGS, &mut self.found);
        self.paragraph.clear();
        self.has_tags = false;
        let Some(segment) = tags.filter(|_| self.containers.is_empty()) else {
            return;
        };
        let tags_line = TagsLine {
            line: segment.line,
            range: segment.start..segment.end,
            is_below: self.headings == 1,
        };
        match &self.tags_line {
            None if self.headings <= 1 => self.tags_line = Some(tags_line),
            Some(other) if tags_line.is_below && !other.is_below => {
                self.tags_line = Some(tags_line);
            }
            _ => {}
        }
    }

    /// Ends a heading that consists of the collected lines.
    fn end_heading(&mut self, last_line: usize) {
        self.leaf = Leaf::None;
        inline::read(self.bytes, &self.paragraph, TAGS, &mut self.found);
        if self.containers.is_empty() {
            self.headings += 1;
            if self.heading.is_none() {
                let texts: Vec<_> = self
                    .paragraph
                    .iter()
                    .map(|segment| heading_text(&self.bytes[segment.start..segment.end]))
                    .collect();
                self.heading = Some(Heading {
                    text: texts.join(" "),
                    line: self.paragraph.first().map_or(last_line, |first| first.line),
                    last_line,
                });
            }
        }
        self.paragraph.clear();
    }
}

/// Skips the marker of a quote and returns whether there was one.
fn skip_quote(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = *cursor;
    ahead.skip_indent();
    let is_quote = cursor.indent() < CODE_INDENT && ahead.rest().first() == Some(&b'>');
    if is_quote {
        ahead.skip_bytes(1);
        ahead.skip_columns(1);
        *cursor = ahead;
    }
    is_quote
}

/// Whether a line is a rule: three or more of `-`, `*` or `_`, and nothing else.
fn is_thematic_break(rest: &[u8]) -> bool {
    let Some(mark @ (b'-' | b'*' | b'_')) = rest.first() else {
        return false;
    };
    let is_rule = |byte: &u8| byte == mark || matches!(byte, b' ' | b'\t');
    rest.iter().all(is_rule) && rest.iter().filter(|byte| *byte == mark).nth(2).is_some()
}

/// Returns the length of a list marker, and whether it can interrupt a paragraph.
fn list_marker(rest: &[u8]) -> Option<(usize, bool)> {
    let digits = rest
        .iter()
        .take(10)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (length, is_first) = match (digits, rest.get(digits)?) {
        (0, b'-' | b'+' | b'*') => (1, true),
        (1..=9, b'.' | b')') => (digits + 1, &rest[..digits] == b"1"),
        _ => return None,
    };
    matches!(rest.get(length), None | Some(b' ' | b'\t')).then_some((length, is_first))
}

/// Returns the character and length of an opening code fence.
fn opening_fence(rest: &[u8]) -> Option<(u8, usize)> {
    let mark = *rest.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = rest.iter().take_while(|byte| **byte == mark).count();
    let is_span = mark == b'`' && memchr::memchr(b'`', &rest[length..]).is_some();
    (length >= 3 && !is_span).then_some((mark, length))
}

fn closes_fence(cursor: &Cursor<'_>, mark: u8, length: usize) -> bool {
    let text = cursor.rest().trim_ascii();
    cursor.indent() < CODE_INDENT && text.len() >= length && text.iter().all(|byte| *byte == mark)
}

fn heading_level(rest: &[u8]) -> Option<usize> {
    let level = rest.iter().take_while(|byte| **byte == b'#').count();
    let is_apart = matches!(rest.get(level), None | Some(b' ' | b'\t'));
    ((1..=6).contains(&level) && is_apart).then_some(level)
}

/// Returns the text of a heading without the closing `#`s.
fn heading_text(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let is_closed = open.is_empty() || open.ends_with([' ', '\t']);
    if is_closed { open.trim_end() } else { text }.to_owned()
}
