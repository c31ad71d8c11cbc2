//! Mends text that only half came through.
//!
//! Programs whose strings are UTF-16 cut them between the two halves of a character, and JSON can carry such a half as
//! `\ud83d`. No text in UTF-8 can. A conversation is worth more than one such half, so it becomes U+FFFD, and all the rest
//! stays as it is.

use std::borrow::Cow;

/// Replaces halves of characters that stand alone in the strings of a JSON text.
pub(super) fn mend(json: &[u8]) -> Cow<'_, [u8]> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at + 1 < json.len() {
        if json[at] != b'\\' {
            at += 1;
            continue;
        }
        match half(&json[at..]) {
            Some(Half::High) if matches!(half(&json[at + 6..]), Some(Half::Low)) => at += 12,
            Some(_) => {
                let mended = mended.get_or_insert_with(|| json.to_vec());
                mended[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            // A backslash and what it escapes, which may be another one.
            None => at += 2,
        }
    }
    mended.map_or(Cow::Borrowed(json), Cow::Owned)
}

enum Half {
    High,
    Low,
}

/// Recognises `\uD800` to `\uDFFF`.
fn half(json: &[u8]) -> Option<Half> {
    let digits = json.strip_prefix(b"\\u")?.get(..4)?;
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match code {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_halves_that_stand_alone_are_mended() {
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
            assert_eq!(mend(json.as_bytes()), expected.as_bytes(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn every_utf_16_string_can_be_read_afterwards(units: Vec<u16>) {
            let units_as_json: Vec<_> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{}\"", units_as_json.concat());
            let read: String = serde_json::from_slice(&mend(json.as_bytes())).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }

        #[test]
        fn no_bytes_are_too_strange(bytes: Vec<u8>) {
            prop_assert_eq!(mend(&bytes).len(), bytes.len());
        }
    }
}
