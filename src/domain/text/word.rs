//! Words that users choose for kinds and roles.

/// Declares a newtype over a word of lowercase letters, digits and `-`.
macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $illegal:ident, $what:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
        )]
        #[serde(try_from = "String")]
        #[schema(value_type = String, pattern = "^[a-z][a-z0-9-]*$", max_length = 64, example = $example)]
        pub struct $name(String);

        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error(
            "must be {} such as `{}`: lowercase letters, digits and `-`, starting with a letter, at most {} characters",
            $what, $example, $crate::domain::text::word::LONGEST
        )]
        pub struct $illegal;

        impl $name {
            pub fn parse(word: impl Into<String>) -> Result<Self, $illegal> {
                let word = word.into();
                if $crate::domain::text::word::is_legal(&word) {
                    Ok(Self(word))
                } else {
                    Err($illegal)
                }
            }
        }

        $crate::domain::text::checked_string::checked_string!($name, $illegal);
    };
}

pub(in crate::domain) use word;

pub(in crate::domain) const LONGEST: usize = 64;

pub(in crate::domain) fn is_legal(word: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    word.len() <= LONGEST
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(is_legal)
}
