//! Text that every store, file and process can hold.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::checked_string::checked_string;

/// Text without NUL characters.
///
/// JSON allows `\u0000`, but C strings, SQLite functions and process arguments end at a NUL, so some readers would lose
/// the rest of the text.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "String")]
#[schema(value_type = String, pattern = "^[^\\x00]*$")]
pub struct Text(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("has a NUL character (\\u0000) at byte {at}, which cannot be stored; remove it")]
pub struct HasNul {
    at: usize,
}

impl Text {
    pub fn parse(text: impl Into<String>) -> Result<Self, HasNul> {
        let text = text.into();
        match text.find('\0') {
            Some(at) => Err(HasNul { at }),
            None => Ok(Self(text)),
        }
    }

    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// Counts Unicode scalar values.
    pub fn characters(&self) -> usize {
        self.0.chars().count()
    }

    /// Replaces NUL characters, which program output may contain, with U+FFFD.
    pub fn lossy(text: String) -> Self {
        Self(if text.contains('\0') {
            text.replace('\0', "\u{fffd}")
        } else {
            text
        })
    }

    /// Truncates to at most `bytes` bytes and appends `…` if anything was removed.
    #[must_use]
    pub fn beginning(&self, bytes: usize) -> Self {
        if self.0.len() <= bytes {
            return self.clone();
        }
        let end = (0..=bytes)
            .rev()
            .find(|end| self.0.is_char_boundary(*end))
            .unwrap_or_default();
        Self(format!("{}…", &self.0[..end]))
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

checked_string!(Text, HasNul);

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates any storable text.
    pub fn any_text() -> impl Strategy<Value = Text> {
        any::<String>().prop_map(|text| Text(text.replace('\0', "")))
    }

    #[test]
    fn a_nul_is_refused_with_its_position() {
        let error = serde_json::from_str::<Text>(r#""ab\u0000c""#).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("NUL character (\\u0000) at byte 2"),
            "{error}"
        );
    }

    #[test]
    fn all_other_characters_are_accepted() {
        for text in [
            "",
            " ",
            "\u{1}\u{7f}",
            "emoji 🎶",
            "line\r\nline",
            "\u{feff}bom",
            "\u{202e}",
        ] {
            assert_eq!(text.parse::<Text>().unwrap().as_str(), text);
        }
    }
}
