//! Statements whose placeholders are checked at compile time.
//!
//! sqlx binds too few arguments as NULL and ignores too many, both silently. rusqlite binds by the order in which
//! placeholders first appear, whatever their number. So a [`Statement`] refuses to compile unless `$1`, `$2`, …
//! appear first in that order, and [`query!`] refuses unless it gets as many arguments.

/// A statement and how many arguments it takes.
#[derive(Clone, Copy)]
pub(super) struct Statement {
    pub text: &'static str,
    pub arguments: usize,
}

impl Statement {
    /// Counts the placeholders.
    ///
    /// # Panics
    /// Panics, at compile time, if they do not first appear in the order of their numbers.
    pub const fn new(text: &'static str) -> Self {
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
        Self {
            text,
            arguments: highest,
        }
    }
}

/// Makes a checked [`Statement`] of string literals.
macro_rules! sql {
    ($($part:expr),+ $(,)?) => {
        const { $crate::store::sqlite::sql::Statement::new(concat!($($part),+)) }
    };
}

/// Makes a sqlx query of a constant [`Statement`] and exactly its arguments.
macro_rules! query {
    ($statement:expr $(, $argument:expr)* $(,)?) => {{
        const STATEMENT: $crate::store::sqlite::sql::Statement = $statement;
        const { assert!(STATEMENT.arguments == <[&str]>::len(&[$(stringify!($argument)),*])) };
        sqlx::query(STATEMENT.text)$(.bind($argument))*
    }};
}

pub(super) use {query, sql};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted_once_each() {
        assert_eq!(Statement::new("SELECT 1").arguments, 0);
        assert_eq!(Statement::new("SELECT $1, $2, $1, $3").arguments, 3);
        assert_eq!(
            Statement::new("$1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11").arguments,
            11
        );
    }

    #[test]
    #[should_panic(expected = "must first appear as $1, $2")]
    fn placeholders_out_of_order_are_refused() {
        Statement::new("SELECT $2, $1");
    }
}
