//! Splits Rust source into tokens. Comments are dropped; string literals are kept, because they may hold SQL.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or a keyword.
    Word,
    /// The content of a string literal.
    Text,
    /// Punctuation: `::`, `..`, or one character.
    Mark,
    /// A number, a character or a lifetime.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub text: String,
    pub line: usize,
}

impl Token {
    pub fn is_word(&self, text: &str) -> bool {
        self.kind == Kind::Word && self.text == text
    }

    pub fn is_mark(&self, text: &str) -> bool {
        self.kind == Kind::Mark && self.text == text
    }
}

pub fn split(source: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        chars: source.chars().collect(),
        at: 0,
        line: 1,
        tokens: Vec::new(),
    };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    /// Counts the consecutive characters that satisfy a condition.
    fn count(&self, ahead: usize, fits: impl Fn(char) -> bool) -> usize {
        let rest = self.chars.iter().skip(self.at + ahead);
        rest.take_while(|c| fits(**c)).count()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, c)| self.peek(ahead) == c)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.peek(0) == '\n' {
                self.line += 1;
            }
            self.at += 1;
        }
    }

    /// Skips this many characters and makes a token of them.
    fn take(&mut self, kind: Kind, count: usize) {
        let end = (self.at + count).min(self.chars.len());
        let text = self.chars[self.at..end].iter().collect();
        let line = self.line;
        self.skip(count);
        self.tokens.push(Token { kind, text, line });
    }

    fn step(&mut self) {
        let c = self.peek(0);
        if c.is_whitespace() {
            self.skip(1);
        } else if self.starts_with("//") {
            while self.at < self.chars.len() && self.peek(0) != '\n' {
                self.skip(1);
            }
        } else if self.starts_with("/*") {
            self.skip_block_comment();
        } else if let Some((prefix, hashes)) = self.string_opening() {
            self.take_string(prefix, hashes);
        } else if c == '\'' || self.starts_with("b'") {
            self.take_quoted();
        } else if c.is_alphabetic() || c == '_' {
            if self.starts_with("r#") {
                self.skip(2);
            }
            self.take(Kind::Word, self.word_length(0));
        } else if c.is_ascii_digit() {
            let mut length = self.word_length(0);
            if self.peek(length) == '.' && self.peek(length + 1).is_ascii_digit() {
                length += 1 + self.word_length(length + 1);
            }
            self.take(Kind::Other, length);
        } else {
            let long = ["::", "..=", "...", ".."]
                .into_iter()
                .find(|mark| self.starts_with(mark));
            self.take(Kind::Mark, long.map_or(1, str::len));
        }
    }

    fn word_length(&self, from: usize) -> usize {
        self.count(from, |c| c.is_alphanumeric() || c == '_')
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            if self.starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.starts_with("*/") {
                depth -= 1;
                self.skip(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.skip(1);
            }
        }
    }

    /// Returns the length of a string's opening, and its number of hashes if the string is raw.
    fn string_opening(&self) -> Option<(usize, Option<usize>)> {
        for prefix in ["", "b", "c"] {
            if self.starts_with(&format!("{prefix}\"")) {
                return Some((prefix.len() + 1, None));
            }
        }
        for prefix in ["r", "br", "cr"] {
            if self.starts_with(prefix) {
                let hashes = self.count(prefix.len(), |c| c == '#');
                if self.peek(prefix.len() + hashes) == '"' {
                    return Some((prefix.len() + hashes + 1, Some(hashes)));
                }
            }
        }
        None
    }

    fn take_string(&mut self, opening: usize, hashes: Option<usize>) {
        self.skip(opening);
        let closing = format!("\"{}", "#".repeat(hashes.unwrap_or(0)));
        let mut length = 0;
        while self.at + length < self.chars.len() {
            if hashes.is_none() && self.peek(length) == '\\' {
                length += 2;
            } else if closing
                .chars()
                .enumerate()
                .all(|(ahead, c)| self.peek(length + ahead) == c)
            {
                break;
            } else {
                length += 1;
            }
        }
        self.take(Kind::Text, length);
        self.skip(closing.len());
    }

    /// Takes a character, a byte or a lifetime.
    fn take_quoted(&mut self) {
        let quote = usize::from(self.peek(0) == 'b');
        if self.peek(quote + 1) == '\\' {
            let rest = self.count(quote + 3, |c| c != '\'');
            self.take(Kind::Other, quote + 3 + rest + 1);
        } else if self.peek(quote + 2) == '\'' {
            self.take(Kind::Other, quote + 3);
        } else {
            self.take(Kind::Other, 1 + self.word_length(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        split(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_are_dropped_and_lines_are_counted() {
        let tokens = split("a // b\n/* c /* d */\n e */ f");
        assert_eq!(tokens.len(), 2);
        assert_eq!((tokens[1].text.as_str(), tokens[1].line), ("f", 3));
    }

    #[test]
    fn quotes_and_comment_marks_inside_a_string_do_not_end_it() {
        let tokens = split(r##"x("a \" // b", r#"c " d"#, b"e", '"', b'\'', '\u{7f}') 'a"##);
        let strings: Vec<_> = tokens
            .iter()
            .filter(|token| token.kind == Kind::Text)
            .map(|token| token.text.as_str())
            .collect();
        assert_eq!(strings, [r#"a \" // b"#, r#"c " d"#, "e"]);
        assert_eq!(tokens.last().unwrap().text, "'a");
    }

    #[test]
    fn paths_ranges_and_raw_identifiers_are_distinguished() {
        assert_eq!(
            texts("0..super::r#type 1.5.max"),
            ["0", "..", "super", "::", "type", "1.5", ".", "max"]
        );
    }
}
