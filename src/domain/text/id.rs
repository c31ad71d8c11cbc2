//! Names and ids: short strings that are safe in a URL, as a file name and on a command line.

const MAX_LENGTH: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalName {
    #[error("must not be empty")]
    Empty,
    #[error("must not be longer than {MAX_LENGTH} characters")]
    TooLong,
    #[error("may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`")]
    Character,
}

pub(in crate::domain) fn check(name: &str) -> Result<(), IllegalName> {
    if name.is_empty() {
        return Err(IllegalName::Empty);
    }
    if name.len() > MAX_LENGTH {
        return Err(IllegalName::TooLong);
    }
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.starts_with('.') || !name.bytes().all(is_legal) {
        return Err(IllegalName::Character);
    }
    Ok(())
}

/// Declares a newtype over a valid name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
        )]
        #[serde(try_from = "String")]
        #[schema(
            value_type = String, min_length = 1, max_length = 100,
            pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]*$"
        )]
        pub struct $name(String);

        impl $name {
            pub fn parse(name: impl Into<String>) -> Result<Self, $crate::domain::IllegalName> {
                let name = name.into();
                $crate::domain::text::id::check(&name)?;
                Ok(Self(name))
            }
        }

        $crate::domain::text::checked_string::checked_string!($name, $crate::domain::IllegalName);
    };
}

/// Declares an id. New ids are `UUIDv7`; an imported id may be any valid name.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $crate::domain::text::id::name! { $(#[$doc])* $name }

        impl $name {
            /// Creates an id that sorts after all earlier ones.
            #[expect(clippy::new_without_default, reason = "every call returns a different id")]
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7().to_string())
            }
        }
    };
}

pub(in crate::domain) use {id, name};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AgentName;

    #[test]
    fn unsafe_names_are_refused() {
        for (name, why) in [
            ("", IllegalName::Empty),
            (".", IllegalName::Character),
            ("..", IllegalName::Character),
            (".hidden", IllegalName::Character),
            ("a/b", IllegalName::Character),
            ("a b", IllegalName::Character),
            ("a\n", IllegalName::Character),
            ("ä", IllegalName::Character),
            ("a\"b", IllegalName::Character),
        ] {
            assert_eq!(AgentName::parse(name), Err(why), "{name:?}");
        }
        assert_eq!(AgentName::parse("x".repeat(101)), Err(IllegalName::TooLong));
    }

    #[test]
    fn unusual_but_legal_names_are_accepted() {
        for name in [
            "a",
            "A.b_c-9",
            "-",
            "_",
            "x..y",
            "0198F3C0-AAAA-7000-8000-000000000000",
        ] {
            assert_eq!(AgentName::parse(name).unwrap().as_str(), name);
        }
        assert!(AgentName::parse("x".repeat(100)).is_ok());
    }
}
