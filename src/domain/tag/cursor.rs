//! A place in a line that counts columns, because a tab is as wide as it takes to reach the next stop.

/// How far apart the stops of tabs are.
const STOP: usize = 4;

/// A place in a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// The next byte.
    pub at: usize,
    end: usize,
    column: usize,
    /// How many columns are left of a tab that was consumed in part.
    spare: usize,
}

impl<'a> Cursor<'a> {
    /// Begins at the first of these bytes of a file.
    pub fn new(bytes: &'a [u8], start: usize, end: usize) -> Self {
        Self {
            bytes,
            at: start,
            end,
            column: 0,
            spare: 0,
        }
    }

    /// Returns what is left of the line.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..self.end]
    }

    /// Returns how wide the white space before the next text is.
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

    /// Tells whether no text is left.
    pub fn is_blank(&self) -> bool {
        self.rest().iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Goes over so many columns of white space, if there are.
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

    /// Goes over all white space.
    pub fn skip_indent(&mut self) {
        self.skip_columns(self.indent());
    }

    /// Goes over bytes that are one column wide each.
    pub fn skip_bytes(&mut self, count: usize) {
        self.at += count;
        self.column += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_is_as_wide_as_the_next_stop_is_far_and_can_be_consumed_in_part() {
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
