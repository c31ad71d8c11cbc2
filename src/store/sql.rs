//! Statements that are checked at compile time.
//!
//! A driver binds arguments by the order in which placeholders first appear, or by their numbers; missing arguments are NULL in
//! one driver and an error in another. So a [`Statement`] compiles only if `$1`, `$2`, … first appear in that order, and its
//! type contains the number of arguments: a call with more or fewer does not compile.

/// A statement with `N` placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Statement<const N: usize> {
    text: &'static str,
}

impl<const N: usize> Statement<N> {
    /// [`sql!`](crate::store::sql::sql) counts the placeholders.
    pub const fn new(text: &'static str) -> Self {
        assert!(count_placeholders(text) == N);
        Self { text }
    }

    pub const fn text(self) -> &'static str {
        self.text
    }
}

/// Counts the placeholders of a statement.
///
/// # Panics
/// Panics, at compile time, if they do not first appear in the order of their numbers.
pub const fn count_placeholders(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut highest) = (0, 0);
    while at < bytes.len() {
        at += 1;
        if bytes[at - 1] != b'$' {
            continue;
        }
        let mut number = 0;
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            number = number * 10 + (bytes[at] - b'0') as usize;
            at += 1;
        }
        assert!(
            number >= 1 && number <= highest + 1,
            "placeholders must first appear as $1, $2, $3 …"
        );
        if number == highest + 1 {
            highest = number;
        }
    }
    highest
}

pub const fn length(parts: &[&str]) -> usize {
    let (mut at, mut length) = (0, 0);
    while at < parts.len() {
        length += parts[at].len();
        at += 1;
    }
    length
}

/// Joins the parts of a text; `LENGTH` is the sum of their lengths.
pub const fn join<const LENGTH: usize>(parts: &[&str]) -> [u8; LENGTH] {
    let mut joined = [0; LENGTH];
    let (mut part, mut to) = (0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut from = 0;
        while from < bytes.len() {
            joined[to] = bytes[from];
            (from, to) = (from + 1, to + 1);
        }
        part += 1;
    }
    joined
}

/// Joins constant texts at compile time. Unlike `concat!`, it accepts constants.
macro_rules! text {
    ($($part:expr),+ $(,)?) => {
        const {
            const PARTS: &[&str] = &[$($part),+];
            const BYTES: [u8; $crate::store::sql::length(PARTS)] = $crate::store::sql::join(PARTS);
            match std::str::from_utf8(&BYTES) {
                Ok(text) => text,
                Err(_) => unreachable!(),
            }
        }
    };
}

/// Builds a checked [`Statement`] from constant texts.
macro_rules! sql {
    ($($part:expr),+ $(,)?) => {
        const {
            const TEXT: &str = $crate::store::sql::text!($($part),+);
            $crate::store::sql::Statement::<{ $crate::store::sql::count_placeholders(TEXT) }>::new(TEXT)
        }
    };
}

pub(crate) use {sql, text};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted_once_each() {
        assert_eq!(count_placeholders("SELECT 1"), 0);
        assert_eq!(count_placeholders("SELECT $1, $2, $1, $3"), 3);
        assert_eq!(count_placeholders("$1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11"), 11);
    }

    #[test]
    #[should_panic(expected = "must first appear as $1, $2")]
    fn placeholders_out_of_order_are_refused() {
        count_placeholders("SELECT $2, $1");
    }

    #[test]
    fn parts_are_joined() {
        const COLUMNS: &str = "a, b";
        let statement: Statement<1> = sql!("SELECT ", COLUMNS, " FROM t WHERE c = $1");
        assert_eq!(statement.text(), "SELECT a, b FROM t WHERE c = $1");
    }
}
