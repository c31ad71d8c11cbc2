//! Enums whose variants are words in JSON, SQL and on the command line.

/// Declares an enum with one word per variant: serde, the OpenAPI schema, `as_str` and `parse` all use that word.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:tt,)+
        }
    ) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
        )]
        $(#[$meta])*
        $visibility enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(in crate::domain) use wire_enum;

#[cfg(test)]
mod tests {
    use crate::domain::Provider;

    #[test]
    fn json_and_sql_use_the_same_words() {
        for provider in Provider::ALL {
            let word = provider.as_str();
            assert_eq!(serde_json::to_value(provider).unwrap(), word);
            assert_eq!(
                serde_json::from_value::<Provider>(word.into()).unwrap(),
                provider
            );
            assert_eq!(Provider::parse(word), Some(provider));
        }
        assert_eq!(Provider::ALL[2].as_str(), "opencode");
        assert_eq!(Provider::parse("OpenCode"), None);
    }
}
