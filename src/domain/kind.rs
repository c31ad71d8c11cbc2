//! Kinds of work that requests ask for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest kind.
const MAX_KIND: usize = 64;

/// What kind of work a request asks for: `[a-z][a-z0-9-]*`, so that it can stand in a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, pattern = "^[a-z][a-z0-9-]*$", max_length = 64, example = "implementation")]
pub struct Kind(String);

/// Says why a word cannot be a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a kind of work such as `implementation`: small letters, digits and `-`, beginning with a letter, at most {MAX_KIND}"
)]
pub struct IllegalKind;

impl Kind {
    /// Reads a kind, if it has the legal form.
    pub fn parse(kind: impl Into<String>) -> Result<Self, IllegalKind> {
        let kind = kind.into();
        let is_legal =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if kind.len() > MAX_KIND
            || !kind.starts_with(|c: char| c.is_ascii_lowercase())
            || !kind.bytes().all(is_legal)
        {
            return Err(IllegalKind);
        }
        Ok(Self(kind))
    }

    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Kind {
    type Error = IllegalKind;

    fn try_from(kind: String) -> Result<Self, Self::Error> {
        Self::parse(kind)
    }
}

impl std::str::FromStr for Kind {
    type Err = IllegalKind;

    fn from_str(kind: &str) -> Result<Self, Self::Err> {
        Self::parse(kind)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_can_stand_in_a_tag() {
        for kind in ["fix", "my-kind2", "x"] {
            assert_eq!(Kind::parse(kind).unwrap().as_str(), kind);
        }
        let long = "x".repeat(MAX_KIND + 1);
        for kind in [
            "", "Fix", "2fix", "-fix", "a b", "a_b", "fix\n", "é", "../x", &long,
        ] {
            assert_eq!(Kind::parse(kind), Err(IllegalKind), "{kind:?}");
        }
    }
}
