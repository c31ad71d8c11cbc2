//! What a tag says.

use std::fmt;

/// The longest name of a kind.
const MAX_KIND: usize = 64;

/// The longest tag, without its `#`: the longest state before the longest kind, and some room.
pub(super) const MAX_WORD: usize = 100;

/// How far work has come, as the first word of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TagState {
    /// Somebody asks for it.
    Needs,
    /// It may be done at once.
    Delegated,
    /// It may be done after what is delegated.
    Next,
    /// Somebody does it.
    Claimed,
    /// It is done.
    Done,
}

impl TagState {
    /// All states, in the order of their life.
    pub const ALL: [Self; 5] = [
        Self::Needs,
        Self::Delegated,
        Self::Next,
        Self::Claimed,
        Self::Done,
    ];

    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Delegated => "delegated",
            Self::Next => "next",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// The kind of work that a tag is about: `[a-z][a-z0-9-]*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TagKind(String);

impl TagKind {
    /// Reads a kind, if it has the legal form.
    pub fn parse(name: &str) -> Option<Self> {
        let is_legal =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        (begins_well && name.len() <= MAX_KIND && name.bytes().all(is_legal))
            .then(|| Self(name.to_owned()))
    }

    /// Returns the kind as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How urgent work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before all else.
    P0,
    /// Soon.
    P1,
    /// Some time.
    P2,
}

/// How much work it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// Little.
    S,
    /// Some.
    M,
    /// Much.
    L,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// Work of a kind and how far it has come: `#needs-implementation`.
    State {
        /// How far.
        state: TagState,
        /// What kind.
        kind: TagKind,
    },
    /// How urgent the work is: `#P0`.
    Priority(Priority),
    /// How much work it is: `#M`.
    Effort(Effort),
    /// Something that people must look at, `#active-alert`, or no longer, `#done-alert`.
    Alert {
        /// Whether they must.
        active: bool,
    },
    /// Any other word, which Chorus keeps and finds and does not interpret.
    Word(String),
}

/// Says why a string cannot be a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTag {
    /// It has no characters.
    #[error("a tag must not be empty; write one such as '#needs-implementation'")]
    Empty,
    /// It has too many characters.
    #[error("a tag must not be longer than {MAX_WORD} characters")]
    TooLong,
    /// It has a character that it may not have.
    #[error("a tag begins with a letter or digit and has only letters, digits, `-` and `_`")]
    Characters,
    /// A star is not at the end.
    #[error("`*` stands for the rest of a tag and must be at its end")]
    Star,
}

/// Tells whether a byte may be in a tag.
pub(super) const fn is_tag_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

impl Tag {
    /// Reads a tag as a person types it, with or without its `#`.
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

    /// Makes the tag of a word that has the characters of one.
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
        let (state, kind) = (TagState::parse(state)?, TagKind::parse(kind)?);
        Some(Self::State { state, kind })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State { state, kind } => write!(f, "#{}-{}", state.as_str(), kind.as_str()),
            Self::Priority(priority) => write!(f, "#{priority:?}"),
            Self::Effort(effort) => write!(f, "#{effort:?}"),
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
    fn a_tag_says_what_it_is_and_is_written_as_it_was_read() {
        let state = |state, kind| Tag::State {
            state,
            kind: TagKind::parse(kind).unwrap(),
        };
        let word = |word: &str| Tag::Word(word.to_owned());
        for (text, tag) in [
            (
                "#needs-implementation",
                state(TagState::Needs, "implementation"),
            ),
            (
                "#delegated-my-kind2",
                state(TagState::Delegated, "my-kind2"),
            ),
            ("#next-x", state(TagState::Next, "x")),
            ("#claimed-fix", state(TagState::Claimed, "fix")),
            ("#done-fix", state(TagState::Done, "fix")),
            ("#P0", Tag::Priority(Priority::P0)),
            ("#P3", word("P3")),
            ("#p1", word("p1")),
            ("#M", Tag::Effort(Effort::M)),
            ("#XL", word("XL")),
            ("#active-alert", Tag::Alert { active: true }),
            ("#done-alert", Tag::Alert { active: false }),
            ("#needs-alert", state(TagState::Needs, "alert")),
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
    fn what_is_no_tag_is_refused_with_the_reason() {
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
