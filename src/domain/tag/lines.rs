//! Lines of a file: their ranges and line endings.

use std::ops::Range;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Finds the ranges of lines without their endings: `\n`, `\r\n` or `\r`, as in Markdown.
///
/// A line ending at the end of the file does not start another line.
pub(super) fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = if bytes.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    };
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let is_second = bytes[at] == b'\n' && at > 0 && bytes[at - 1] == b'\r';
        if !is_second {
            lines.push(start..at);
        }
        start = at + 1;
    }
    if start < bytes.len() {
        lines.push(start..bytes.len());
    }
    lines
}

/// Returns the line ending at this offset.
pub(super) fn ending(bytes: &[u8], end: usize) -> &[u8] {
    let rest = &bytes[end..];
    let length = match rest {
        [b'\r', b'\n', ..] => 2,
        [_, ..] => 1,
        [] => 0,
    };
    &rest[..length]
}

/// Counts the lines of front matter: from `---` on the first line to the next `---` or `...`.
pub(super) fn front_matter(bytes: &[u8], lines: &[Range<usize>]) -> usize {
    let text = |line: &Range<usize>| bytes[line.clone()].trim_ascii_end();
    match lines.first() {
        Some(first) if text(first) == b"---" => {}
        _ => return 0,
    }
    let closing = lines
        .iter()
        .skip(1)
        .position(|line| matches!(text(line), b"---" | b"..."));
    closing.map_or(0, |inside| inside + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ending_is_recognised() {
        let bytes = b"\xef\xbb\xbfa\r\nb\n\nc\rd";
        let texts: Vec<_> = lines(bytes)
            .into_iter()
            .map(|line| (&bytes[line.clone()], ending(bytes, line.end)))
            .collect();
        let wanted: [(&[u8], &[u8]); 5] = [
            (b"a", b"\r\n"),
            (b"b", b"\n"),
            (b"", b"\n"),
            (b"c", b"\r"),
            (b"d", b""),
        ];
        assert_eq!(texts, wanted);
        assert_eq!(lines(b"").len(), 0);
        assert_eq!(lines(b"\n").len(), 1);
        assert_eq!(lines(b"a\r").len(), 1);
    }

    #[test]
    fn front_matter_must_be_closed() {
        let count = |text: &[u8]| front_matter(text, &lines(text));
        assert_eq!(count(b"---\na: 1\n---\n# T\n"), 3);
        assert_eq!(count(b"---\n...\n"), 2);
        assert_eq!(count(b"---\na: 1\n"), 0);
        assert_eq!(count(b"# T\n---\n---\n"), 0);
    }
}
