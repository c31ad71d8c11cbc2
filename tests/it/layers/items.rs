//! Where items, attributes and groups end.

use std::ops::Range;

use super::tokens::{Kind, Token};

#[derive(Clone, Copy)]
pub struct Items<'a>(pub &'a [Token]);

impl<'a> Items<'a> {
    pub fn is_mark(&self, at: usize, text: &str) -> bool {
        self.0.get(at).is_some_and(|token| token.is_mark(text))
    }

    pub fn is_word(&self, at: usize, text: &str) -> bool {
        self.0.get(at).is_some_and(|token| token.is_word(text))
    }

    pub fn word(&self, at: usize) -> Option<&'a str> {
        let token = self.0.get(at)?;
        (token.kind == Kind::Word).then_some(token.text.as_str())
    }

    /// Returns the position behind the attributes, and whether one of them is for tests.
    pub fn skip_attributes(&self, mut at: usize) -> (usize, bool) {
        let mut is_test = false;
        while self.is_mark(at, "#") {
            let opening = at + 1 + usize::from(self.is_mark(at + 1, "!"));
            let end = self.group_end(opening);
            is_test |= self.is_for_tests(opening + 1..end - 1);
            at = end;
        }
        (at, is_test)
    }

    /// Returns whether an attribute is `test`, another crate's test (`tokio::test`), or `cfg(test)`.
    fn is_for_tests(&self, attribute: Range<usize>) -> bool {
        let words: Vec<_> = attribute.clone().filter_map(|at| self.word(at)).collect();
        if words.first() == Some(&"cfg") {
            return words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any");
        }
        let name = attribute.take_while(|at| self.word(*at).is_some() || self.is_mark(*at, "::"));
        name.last().and_then(|at| self.word(at)) == Some("test")
    }

    /// Returns the position behind the group that opens here.
    fn group_end(&self, opening: usize) -> usize {
        let mut depth = 0;
        for (at, token) in self.0.iter().enumerate().skip(opening) {
            if token.kind == Kind::Mark {
                match token.text.as_str() {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    return at + 1;
                }
            }
        }
        self.0.len()
    }

    /// Returns the position of the item's keyword: `fn`, `struct`, `use`.
    pub fn keyword(&self, mut at: usize) -> usize {
        loop {
            match self.word(at) {
                Some("pub") if self.is_mark(at + 1, "(") => at = self.group_end(at + 1),
                Some("const")
                    if matches!(
                        self.word(at + 1),
                        Some("fn" | "async" | "unsafe" | "extern")
                    ) =>
                {
                    at += 1;
                }
                Some("extern") if self.0[at + 1].kind == Kind::Text => at += 2,
                Some("pub" | "async" | "unsafe" | "extern" | "default") => at += 1,
                _ => return at,
            }
        }
    }

    /// Returns the position behind the item, the statement or the field that starts here.
    pub fn item_end(&self, start: usize) -> usize {
        let keyword = self.word(self.keyword(start));
        let needs_semicolon = matches!(keyword, Some("use" | "static" | "const" | "type" | "let"));
        let is_member = !needs_semicolon
            && !matches!(
                keyword,
                Some("fn" | "struct" | "enum" | "trait" | "impl" | "mod" | "macro_rules")
            );
        let mut at = start;
        while let Some(token) = self.0.get(at) {
            if token.kind == Kind::Mark {
                match token.text.as_str() {
                    "{" if !needs_semicolon => return self.group_end(at),
                    "(" | "[" | "{" => {
                        at = self.group_end(at);
                        continue;
                    }
                    ")" | "]" | "}" => return at,
                    ";" => return at + 1,
                    "," if is_member => return at + 1,
                    _ => {}
                }
            }
            at += 1;
        }
        at
    }
}
