//! Which lines of a Markdown file are text, and which are code.
//!
//! # How it works
//!
//! This is the first phase of CommonMark's own algorithm: each line is first matched against the containers that are open (quotes
//! and list items), then may open new ones, and what is left of it is a heading, a fence, or text. Text gathers to paragraphs,
//! whose tags are read when they end. Code is what stands
//!
//! - between fences, or behind one that is not closed until its container or the file ends,
//! - four columns further in than its container, unless a paragraph goes on there,
//! - in a comment that begins a line, until `-->`.
//!
//! Front matter is not Markdown and holds nothing. Raw HTML other than comments is read as text.

use super::cursor::Cursor;
use super::heading::{Heading, TagsLine};
use super::inline::{self, Segment};
use super::occurrence::Occurrence;

/// How many containers may be in each other. Deeper markers are text: nobody nests so deep, and each line is matched against all.
const DEEPEST: usize = 32;

/// How far a line may be indented and still begin something.
const CODE_INDENT: usize = 4;

/// What the line of a file's tags begins with.
pub(super) const TAGS: &[u8] = b"**Tags**:";

#[derive(Debug, Clone, Copy)]
enum Container {
    Quote,
    /// A list item, whose text is so many columns further in.
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
    /// The lines of the paragraph that is open.
    paragraph: Vec<Segment>,
    /// Whether one of them begins as the Tags line does.
    has_tags: bool,
    headings: usize,
    /// The first heading outside of quotes and lists.
    pub heading: Option<Heading>,
    /// The Tags line below the first heading, or if there is none, the one above it.
    pub tags_line: Option<TagsLine>,
    /// All tags, in order.
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

    /// Reads the next line.
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

    /// Ends what is open at the end of the file.
    pub fn end(&mut self) {
        self.end_paragraph();
    }

    /// Goes over what says that the line belongs to the open containers. Returns how many it belongs to.
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

    /// Goes over the beginning of a quote or a list item, if the line has one here.
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

    /// Reads what is left of a line behind its containers.
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
            // Text that does not belong to all containers goes on with the paragraph that is open, as lazy people write.
            if self.leaf != Leaf::Paragraph {
                self.close(matched);
            }
            self.gather(segment);
        }
    }

    /// Reads a line from within a comment, and what stands behind its end.
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

    /// Adds a line to the paragraph.
    fn gather(&mut self, segment: Segment) {
        self.leaf = Leaf::Paragraph;
        self.has_tags |= self.bytes[segment.start..segment.end].starts_with(TAGS);
        self.paragraph.push(segment);
    }

    /// Tells whether a line makes the open paragraph a heading. A Tags line never is one: the dashes below it are a rule.
    fn underlines(&self, cursor: &Cursor<'_>) -> bool {
        if self.leaf != Leaf::Paragraph || cursor.indent() >= CODE_INDENT {
            return false;
        }
        let text = cursor.rest().trim_ascii();
        let is_line = |mark: u8| text.iter().all(|byte| *byte == mark);
        !text.is_empty() && (is_line(b'=') || is_line(b'-')) && !self.has_tags
    }

    /// Closes all containers but so many, and the paragraph.
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

    /// Makes what has been gathered a heading that ends with this line.
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

/// Goes over the mark of a quote, if it is there.
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

/// Tells whether a line is a rule: three or more of `-`, `*` or `_`, and nothing else.
fn is_thematic_break(rest: &[u8]) -> bool {
    let Some(mark @ (b'-' | b'*' | b'_')) = rest.first() else {
        return false;
    };
    let is_rule = |byte: &u8| byte == mark || matches!(byte, b' ' | b'\t');
    rest.iter().all(is_rule) && rest.iter().filter(|byte| *byte == mark).nth(2).is_some()
}

/// Returns how long the mark of a list item is, and whether a list may begin with it within a paragraph.
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

/// Returns the mark and length of a fence that opens code.
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

/// Returns how many `#` begin a heading.
fn heading_level(rest: &[u8]) -> Option<usize> {
    let level = rest.iter().take_while(|byte| **byte == b'#').count();
    let is_apart = matches!(rest.get(level), None | Some(b' ' | b'\t'));
    ((1..=6).contains(&level) && is_apart).then_some(level)
}

/// Returns the text of a heading without the `#` that may close it.
fn heading_text(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let is_closed = open.is_empty() || open.ends_with([' ', '\t']);
    if is_closed { open.trim_end() } else { text }.to_owned()
}
