//! Names of tags and their meaning.

use std::fmt;

use crate::domain::{Effort, Kind, Priority, RequestState};

/// The longest tag without its `#`. It leaves room for the longest state with the longest kind.
pub(super) const MAX_WORD: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// The kind and state of a request: `#needs-implementation`.
    State { state: RequestState, kind: Kind },
    /// `#P0`.
    Priority(Priority),
    /// `#M`.
    Effort(Effort),
    /// `#active-alert` or `#done-alert`.
    Alert { active: bool },
    /// Any other word. Chorus can find and change it, but does not interpret it.
    Word(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTag {
    #[error("a tag must not be empty; use one such as '#needs-implementation'")]
    Empty,
    #[error("a tag must not be longer than {MAX_WORD} characters")]
    TooLong,
    #[error(
        "a tag must start with a letter or digit and contain only letters, digits, `-` and `_`"
    )]
    Characters,
    #[error("`*` must be the last character of a tag pattern")]
    Star,
}

pub(super) const fn is_tag_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

impl Tag {
    /// Parses a tag with or without its `#`.
    pub fn parse(text: &str) -> Result<Self, IllegalTag> {
        let word = text.strip_prefix('#').unwrap_or(text);
        if word.is_empty() {
            Err(IllegalTag::Empty)
        } else if !word.bytes().all(is_tag_byte) || !word.as_bytes()[0].is_ascii_alphanumeric() {
            Err(IllegalTag::Characters)
        } else if word.len() > MAX_WORD {
            Err(IllegalTag::TooLong)
        } else {
            Ok(Self::of_word(word))
        }
    }

    /// Interprets a word that has the form of a tag.
    pub(super) fn of_word(word: &str) -> Self {
        match word {
            "P0" => Self::Priority(Priority::P0),
            "P1" => Self::Priority(Priority::P1),
            "P2" => Self::Priority(Priority::P2),
            "S" => Self::Effort(Effort::S),
            "M" => Self::Effort(Effort::M),
            "L" => Self::Effort(Effort::L),
            "active-alert" => Self::Alert { active: true },
            "done-alert" => Self::Alert { active: false },
            word => Self::of_state(word).unwrap_or_else(|| Self::Word(word.to_owned())),
        }
    }

    fn of_state(word: &str) -> Option<Self> {
        let (state, kind) = word.split_once('-')?;
        let (state, kind) = (RequestState::parse(state)?, Kind::parse(kind).ok()?);
        Some(Self::State { state, kind })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State { state, kind } => write!(f, "#{}-{}", state.as_str(), kind.as_str()),
            Self::Priority(priority) => write!(f, "#{}", priority.as_str()),
            Self::Effort(effort) => write!(f, "#{}", effort.as_str()),
            Self::Alert { active: true } => f.write_str("#active-alert"),
            Self::Alert { active: false } => f.write_str("#done-alert"),
            Self::Word(word) => write!(f, "#{word}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_interpreted_and_survives_its_text() {
        let state = |state, kind| Tag::State {
            state,
            kind: Kind::parse(kind).unwrap(),
        };
        let word = |word: &str| Tag::Word(word.to_owned());
        for (text, tag) in [
            (
                "#needs-implementation",
                state(RequestState::Needs, "implementation"),
            ),
            (
                "#delegated-my-kind2",
                state(RequestState::Delegated, "my-kind2"),
            ),
            ("#next-x", state(RequestState::Next, "x")),
            ("#claimed-fix", state(RequestState::Claimed, "fix")),
            ("#done-fix", state(RequestState::Done, "fix")),
            ("#P0", Tag::Priority(Priority::P0)),
            ("#P3", word("P3")),
            ("#p1", word("p1")),
            ("#M", Tag::Effort(Effort::M)),
            ("#XL", word("XL")),
            ("#active-alert", Tag::Alert { active: true }),
            ("#done-alert", Tag::Alert { active: false }),
            ("#needs-alert", state(RequestState::Needs, "alert")),
            ("#needs", word("needs")),
            ("#needs-", word("needs-")),
            ("#needs-Fix", word("needs-Fix")),
            ("#needs-a_b", word("needs-a_b")),
            ("#2026", word("2026")),
        ] {
            assert_eq!(Tag::parse(text), Ok(tag.clone()));
            assert_eq!(Tag::parse(&text[1..]), Ok(tag.clone()));
            assert_eq!(tag.to_string(), text);
        }
        let long = format!("needs-{}", "x".repeat(64));
        assert!(matches!(Tag::parse(&long), Ok(Tag::State { .. })));
        assert!(matches!(Tag::parse(&format!("{long}x")), Ok(Tag::Word(_))));
    }

    #[test]
    fn invalid_tags_are_refused_with_the_reason() {
        for (text, error) in [
            ("", IllegalTag::Empty),
            ("#", IllegalTag::Empty),
            ("##a", IllegalTag::Characters),
            ("#-a", IllegalTag::Characters),
            ("#a b", IllegalTag::Characters),
            ("#größe", IllegalTag::Characters),
            ("#a\n", IllegalTag::Characters),
        ] {
            assert_eq!(Tag::parse(text), Err(error), "{text:?}");
        }
        assert_eq!(Tag::parse(&"a".repeat(101)), Err(IllegalTag::TooLong));
    }
}
