//! A position in a line that counts columns, because the width of a tab depends on its position.

/// The distance of tab stops.
const STOP: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The offset of the next byte.
    pub at: usize,
    end: usize,
    column: usize,
    /// The columns left of a partly consumed tab.
    spare: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], start: usize, end: usize) -> Self {
        Self {
            bytes,
            at: start,
            end,
            column: 0,
            spare: 0,
        }
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..self.end]
    }

    /// Returns the width of the white space before the next text.
    pub fn indent(&self) -> usize {
        let begin = self.column + self.spare;
        let mut column = begin;
        for byte in self.rest() {
            match byte {
                b' ' => column += 1,
                b'\t' => column += STOP - column % STOP,
                _ => break,
            }
        }
        column - begin + self.spare
    }

    pub fn is_blank(&self) -> bool {
        self.rest().iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Skips up to `count` columns of white space.
    pub fn skip_columns(&mut self, mut count: usize) {
        while count > 0 {
            if self.spare == 0 {
                self.spare = match self.rest().first() {
                    Some(b' ') => 1,
                    Some(b'\t') => STOP - self.column % STOP,
                    _ => return,
                };
                self.at += 1;
            }
            let taken = count.min(self.spare);
            self.spare -= taken;
            self.column += taken;
            count -= taken;
        }
    }

    pub fn skip_indent(&mut self) {
        self.skip_columns(self.indent());
    }

    /// Skips bytes that are one column wide each.
    pub fn skip_bytes(&mut self, count: usize) {
        self.at += count;
        self.column += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_reaches_the_next_stop_and_can_be_split() {
        let line = b" \ta";
        let mut cursor = Cursor::new(line, 0, line.len());
        assert_eq!(cursor.indent(), 4);
        cursor.skip_columns(3);
        assert_eq!((cursor.indent(), cursor.rest()), (1, &b"a"[..]));
        cursor.skip_columns(9);
        assert_eq!((cursor.indent(), cursor.rest()), (0, &b"a"[..]));
        let line = b"- \t\tb";
        let mut cursor = Cursor::new(line, 0, line.len());
        cursor.skip_bytes(1);
        assert_eq!(cursor.indent(), 7);
        assert!(!cursor.is_blank());
    }
}
