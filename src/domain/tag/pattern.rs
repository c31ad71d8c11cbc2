//! Patterns that select tags.

use std::fmt;

use super::name::{IllegalTag, Tag};

/// A tag, or a prefix of tags: `#needs-fix`, `#needs-*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagPattern {
    /// The tag or the prefix, with its `#`.
    text: String,
    is_prefix: bool,
}

impl TagPattern {
    /// Parses a pattern with or without its `#`.
    pub fn parse(text: &str) -> Result<Self, IllegalTag> {
        let word = text.strip_prefix('#').unwrap_or(text);
        let (word, is_prefix) = match word.strip_suffix('*') {
            Some(word) => (word, true),
            None => (word, false),
        };
        if word.contains('*') {
            return Err(IllegalTag::Star);
        }
        if !(is_prefix && word.is_empty()) {
            Tag::parse(word)?;
        }
        Ok(Self {
            text: format!("#{word}"),
            is_prefix,
        })
    }

    /// Whether the pattern matches a tag as written in a file.
    pub fn matches(&self, written: &[u8]) -> bool {
        if self.is_prefix {
            written.starts_with(self.needle())
        } else {
            written == self.needle()
        }
    }

    /// Returns bytes that occur in every file with a matching tag.
    pub fn needle(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl fmt::Display for TagPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_tag_or_a_prefix() {
        let matches = |pattern, written: &str| {
            TagPattern::parse(pattern)
                .unwrap()
                .matches(written.as_bytes())
        };
        assert!(matches("#needs-fix", "#needs-fix"));
        assert!(matches("needs-fix", "#needs-fix"));
        assert!(!matches("#needs-fix", "#needs-fixing"));
        assert!(matches("#needs-*", "#needs-fix"));
        assert!(!matches("#needs-*", "#done-fix"));
        assert!(matches("*", "#done-fix"));
        assert_eq!(TagPattern::parse("#n*s"), Err(IllegalTag::Star));
        assert_eq!(TagPattern::parse("#"), Err(IllegalTag::Empty));
        assert_eq!(
            TagPattern::parse("#needs-*").unwrap().to_string(),
            "#needs-*"
        );
    }
}
