//! Replaces lone surrogates in JSON.
//!
//! Programs with UTF-16 strings sometimes cut them between the two halves of a surrogate pair. JSON can carry such a half as
//! `\ud83d`, but UTF-8 cannot. Refusing a whole conversation for it would be worse, so the half becomes U+FFFD, and the rest
//! stays unchanged.

use std::borrow::Cow;

/// Replaces lone surrogates in the strings of a JSON text.
pub(super) fn replace_lone(json: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced: Option<Vec<u8>> = None;
    let mut at = 0;
    while at + 1 < json.len() {
        if json[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(&json[at..]) {
            Some(Surrogate::High) if matches!(surrogate(&json[at + 6..]), Some(Surrogate::Low)) => {
                at += 12;
            }
            Some(_) => {
                let replaced = replaced.get_or_insert_with(|| json.to_vec());
                replaced[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            // Skip a backslash and the character it escapes, which may be another backslash.
            None => at += 2,
        }
    }
    replaced.map_or(Cow::Borrowed(json), Cow::Owned)
}

enum Surrogate {
    High,
    Low,
}

/// Recognises `\uD800` to `\uDFFF`.
fn surrogate(json: &[u8]) -> Option<Surrogate> {
    let digits = json.strip_prefix(b"\\u")?.get(..4)?;
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match code {
        0xd800..=0xdbff => Some(Surrogate::High),
        0xdc00..=0xdfff => Some(Surrogate::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00b""#, r#""\ufffdb""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\uD83D\n\uDE00""#, r#""\ufffd\n\ufffd""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\u0000\u001b""#, r#""\u0000\u001b""#),
            (r#""\ud8""#, r#""\ud8""#),
            (r#""\"#, r#""\"#),
        ] {
            assert_eq!(replace_lone(json.as_bytes()), expected.as_bytes(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn every_utf_16_string_parses_afterwards(units: Vec<u16>) {
            let units_as_json: Vec<_> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{}\"", units_as_json.concat());
            let read: String = serde_json::from_slice(&replace_lone(json.as_bytes())).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }

        #[test]
        fn arbitrary_bytes_keep_their_length(bytes: Vec<u8>) {
            prop_assert_eq!(replace_lone(&bytes).len(), bytes.len());
        }
    }
}
