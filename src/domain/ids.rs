//! Ids of which a person typed only the beginning or the end.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::text::IllegalName;
use super::text::id::check;

/// A noun whose ids may be shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Noun {
    Task,
    Handoff,
    Request,
    Increment,
    Alert,
    Mail,
}

impl Noun {
    pub const ALL: [Self; 6] = [
        Self::Task,
        Self::Handoff,
        Self::Request,
        Self::Increment,
        Self::Alert,
        Self::Mail,
    ];
}

/// The beginning or the end of an id; empty for every id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, max_length = 100, pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]*)?$")]
pub struct IdPart(String);

impl IdPart {
    /// Returns the spellings to look for. Hexadecimal digits are the same in upper and lower case; ids of Chorus have lower case, but
    /// an imported id may have either.
    pub fn spellings(&self) -> Vec<String> {
        let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        let mut spellings = vec![self.0.clone()];
        if self.0.bytes().all(is_hex) {
            let lower = self.0.to_ascii_lowercase();
            spellings.extend((lower != self.0).then_some(lower));
        }
        spellings
    }
}

impl TryFrom<String> for IdPart {
    type Error = IllegalName;

    fn try_from(part: String) -> Result<Self, Self::Error> {
        if !part.is_empty() {
            check(&part)?;
        }
        Ok(Self(part))
    }
}

/// An id that was found by a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundId {
    /// The full id.
    pub id: String,
    /// The description, title, subject or prompt in one short line.
    pub title: String,
}

impl FoundId {
    /// The longest title, in characters.
    const TITLE: usize = 80;

    /// Puts the beginning of the text on one line.
    pub fn new(id: String, text: &str) -> Self {
        let words: Vec<_> = text.split_whitespace().collect();
        let line = words.join(" ");
        let title = match line.char_indices().nth(Self::TITLE) {
            None => line,
            Some((end, _)) => format!("{}…", &line[..end]),
        };
        Self { id, title }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_also_looked_for_in_lower_case() {
        let spellings = |part: &str| IdPart::try_from(part.to_owned()).map(|part| part.spellings());
        assert_eq!(
            spellings("01A1-B"),
            Ok(vec!["01A1-B".to_owned(), "01a1-b".to_owned()])
        );
        assert_eq!(spellings("01a1"), Ok(vec!["01a1".to_owned()]));
        assert_eq!(spellings("Task-1"), Ok(vec!["Task-1".to_owned()]));
        assert_eq!(spellings(""), Ok(vec![String::new()]));
        assert_eq!(spellings("a%"), Err(IllegalName::Character));
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(
            FoundId::new("a".to_owned(), " one\n\ttwo ").title,
            "one two"
        );
        let long = FoundId::new("a".to_owned(), &"ä".repeat(81)).title;
        assert_eq!(long, format!("{}…", "ä".repeat(80)));
    }
}
