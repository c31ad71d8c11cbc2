//! Flattens a `use` tree into one leaf for each name that it brings in.

use super::parse::Path;
use super::tokens::{Kind, Token};

#[derive(Debug, PartialEq, Eq)]
pub enum Brings {
    Name(String),
    /// Everything: `use a::*`.
    All,
    /// A trait's methods only: `use a::B as _`.
    Nothing,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: Path,
    pub brings: Brings,
    pub line: usize,
}

/// Flattens the tree behind a `use` keyword. Returns the position behind its semicolon, too.
pub fn flatten(tokens: &[Token], start: usize) -> (Vec<Leaf>, usize) {
    let mut reader = Reader {
        tokens,
        at: start,
        leaves: Vec::new(),
    };
    reader.read(Path::new());
    (reader.leaves, reader.at + 1)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    /// Skips the mark if it comes next.
    fn skip(&mut self, mark: &str) -> bool {
        let is_next = self
            .tokens
            .get(self.at)
            .is_some_and(|token| token.is_mark(mark));
        self.at += usize::from(is_next);
        is_next
    }

    fn word(&mut self) -> Option<(String, usize)> {
        let token = self.tokens.get(self.at)?;
        (token.kind == Kind::Word).then(|| {
            self.at += 1;
            (token.text.clone(), token.line)
        })
    }

    fn read(&mut self, mut path: Path) {
        let mut line = self.tokens.get(self.at).map_or(0, |token| token.line);
        if self.skip("::") {
            path.push(String::new());
        }
        loop {
            if self.skip("{") {
                while !self.skip("}") && self.at < self.tokens.len() {
                    self.read(path.clone());
                    self.skip(",");
                }
                return;
            }
            if self.skip("*") {
                return self.push(path, Brings::All, line);
            }
            let Some((word, at_line)) = self.word() else {
                // Not a `use` tree: move on, so that the reader cannot hang.
                self.at += 1;
                return;
            };
            line = at_line;
            // In `use a::{self}`, self is the module in front of the braces.
            if word != "self" || path.is_empty() {
                path.push(word);
            }
            if !self.skip("::") {
                break;
            }
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if self
            .tokens
            .get(self.at)
            .is_some_and(|token| token.is_word("as"))
        {
            self.at += 1;
            name = self.word().map_or(name, |(alias, _)| alias);
        }
        let brings = if name == "_" {
            Brings::Nothing
        } else {
            Brings::Name(name)
        };
        self.push(path, brings, line);
    }

    fn push(&mut self, path: Path, brings: Brings, line: usize) {
        self.leaves.push(Leaf { path, brings, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::tokens;

    fn flat(source: &str) -> Vec<String> {
        let (leaves, end) = flatten(&tokens::split(source), 1);
        assert_eq!(end, tokens::split(source).len());
        let show =
            |leaf: &Leaf| format!("{} {:?} {}", leaf.path.join("::"), leaf.brings, leaf.line);
        leaves.iter().map(show).collect()
    }

    #[test]
    fn nested_braces_over_several_lines_give_one_leaf_per_name() {
        assert_eq!(
            flat("use super::{\n    a::{self, B as C},\n    d::{e::*, F as _},\n};"),
            [
                r#"super::a Name("a") 2"#,
                r#"super::a::B Name("C") 2"#,
                "super::d::e All 3",
                "super::d::F Nothing 3",
            ]
        );
    }

    #[test]
    fn a_path_without_braces_is_one_leaf() {
        assert_eq!(
            flat("use super::super::a;"),
            [r#"super::super::a Name("a") 1"#]
        );
        assert_eq!(flat("use ::std::fs;"), [r#"::std::fs Name("fs") 1"#]);
        assert_eq!(flat("use self::a::B;"), [r#"self::a::B Name("B") 1"#]);
    }
}
