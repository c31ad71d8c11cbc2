//! Traces in the sense of W3C Trace Context.
//!
//! Trace and span ids are derived from the ids of hand-offs and runs, so each can be found from the other.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::id::HandoffId;
use super::run::RunId;
use crate::domain::text::checked_string::checked_string;

/// The length of a `traceparent` of version 00, and of the part that all versions share.
const PARENT_LENGTH: usize = 55;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTraceId {
    #[error("must have exactly {digits} lowercase hex digits")]
    Form { digits: usize },
    #[error("must not be all zeros")]
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTraceParent {
    #[error("must look like 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, in lowercase")]
    Form,
    #[error("must not have the version ff")]
    Version,
    #[error("contains an id that {0}")]
    Id(#[from] IllegalTraceId),
}

/// Declares a newtype over lowercase hex digits that are not all zero.
macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $digits:literal, $pattern:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
        )]
        #[serde(try_from = "String")]
        #[schema(value_type = String, pattern = $pattern)]
        pub struct $name(String);

        impl $name {
            pub fn parse(id: impl Into<String>) -> Result<Self, IllegalTraceId> {
                let id = id.into();
                if id.len() != $digits || !id.bytes().all(is_digit) {
                    return Err(IllegalTraceId::Form { digits: $digits });
                }
                if is_zero(&id) {
                    return Err(IllegalTraceId::Zero);
                }
                Ok(Self(id))
            }
        }

        checked_string!($name, IllegalTraceId);
    };
}

hex_id! {
    /// The id of a trace: 16 bytes, not all zero.
    TraceId, 32, "^[0-9a-f]{32}$"
}

hex_id! {
    /// The id of a span: 8 bytes, not all zero.
    SpanId, 16, "^[0-9a-f]{16}$"
}

impl From<&HandoffId> for TraceId {
    /// Names the trace that starts with a hand-off.
    fn from(id: &HandoffId) -> Self {
        Self(digits(id.as_str(), 0..32))
    }
}

impl From<&HandoffId> for SpanId {
    /// Uses the end of the `UUIDv7`, which is random; its beginning is only the time.
    fn from(id: &HandoffId) -> Self {
        Self(digits(id.as_str(), 16..32))
    }
}

impl From<&RunId> for SpanId {
    fn from(id: &RunId) -> Self {
        Self(digits(id.as_str(), 16..32))
    }
}

/// The position of work in a trace, as in the header `traceparent` and the variable `TRACEPARENT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: TraceId,
    pub parent_id: SpanId,
    /// Whether the caller records the trace.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Parses a `traceparent`. Of later versions, it reads the part that all versions share.
    pub fn parse(header: &str) -> Result<Self, IllegalTraceParent> {
        let shared = header
            .get(..PARENT_LENGTH)
            .ok_or(IllegalTraceParent::Form)?;
        let rest = &header[PARENT_LENGTH..];
        let parts: Vec<&str> = shared.split('-').collect();
        let [version, trace_id, parent_id, flags] = parts[..] else {
            return Err(IllegalTraceParent::Form);
        };
        let version = byte(version)?;
        if version == 0xff {
            return Err(IllegalTraceParent::Version);
        }
        if !rest.is_empty() && (version == 0 || !rest.starts_with('-')) {
            return Err(IllegalTraceParent::Form);
        }
        Ok(Self {
            trace_id: TraceId::parse(trace_id)?,
            parent_id: SpanId::parse(parent_id)?,
            is_sampled: byte(flags)? & 1 == 1,
        })
    }
}

impl std::str::FromStr for TraceParent {
    type Err = IllegalTraceParent;

    fn from_str(header: &str) -> Result<Self, Self::Err> {
        Self::parse(header)
    }
}

impl std::fmt::Display for TraceParent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            trace_id,
            parent_id,
            is_sampled,
        } = self;
        write!(f, "00-{trace_id}-{parent_id}-{:02x}", u8::from(*is_sampled))
    }
}

const fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_zero(digits: &str) -> bool {
    digits.bytes().all(|digit| digit == b'0')
}

fn byte(digits: &str) -> Result<u8, IllegalTraceParent> {
    if digits.len() != 2 || !digits.bytes().all(is_digit) {
        return Err(IllegalTraceParent::Form);
    }
    u8::from_str_radix(digits, 16).map_err(|_| IllegalTraceParent::Form)
}

/// Returns a range of 32 hex digits that is not all zero, taken from the id if it is a UUID, otherwise from its hash.
fn digits(id: &str, part: Range<usize>) -> String {
    let hash = |text: &str| {
        let first = Sha256::digest(text)
            .first_chunk()
            .map_or(0, |half| u128::from_be_bytes(*half));
        format!("{first:032x}")
    };
    let uuid = uuid::Uuid::try_parse(id).map(|uuid| uuid.simple().to_string());
    uuid.into_iter()
        .chain(std::iter::successors(Some(hash(id)), |last| {
            Some(hash(last))
        }))
        .map(|digits| digits[part.clone()].to_owned())
        .find(|digits| !is_zero(digits))
        .expect("hashes of hashes are not all zero")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn handoff(id: &str) -> HandoffId {
        HandoffId::parse(id).unwrap()
    }

    #[test]
    fn trace_and_span_ids_come_from_the_handoff_id() {
        for id in [
            "0198F3C0-aaaa-7000-8abc-0123456789ab",
            "0198f3c0aaaa70008abc0123456789ab",
        ] {
            assert_eq!(
                TraceId::from(&handoff(id)).as_str(),
                "0198f3c0aaaa70008abc0123456789ab"
            );
            assert_eq!(SpanId::from(&handoff(id)).as_str(), "8abc0123456789ab");
        }
    }

    #[test]
    fn an_id_other_than_a_uuid_is_hashed() {
        assert_eq!(
            TraceId::from(&handoff("import-7")).as_str(),
            "7fa9de4508328836b75dc342bc82c32a"
        );
        assert_eq!(
            SpanId::from(&handoff("import-7")),
            SpanId::from(&RunId::parse("import-7").unwrap())
        );
        assert_ne!(
            TraceId::from(&handoff("import-7")),
            TraceId::from(&handoff("import-8"))
        );
    }

    #[test]
    fn an_id_is_never_zero() {
        let nil = handoff("00000000-0000-0000-0000-000000000000");
        TraceId::parse(TraceId::from(&nil).as_str()).unwrap();
        let half = handoff("0198f3c0-aaaa-7000-0000-000000000000");
        assert!(TraceId::from(&half).as_str().ends_with("000000"));
        SpanId::parse(SpanId::from(&half).as_str()).unwrap();
        assert_eq!(TraceId::parse("0".repeat(32)), Err(IllegalTraceId::Zero));
        assert_eq!(SpanId::parse("0".repeat(16)), Err(IllegalTraceId::Zero));
    }

    #[test]
    fn an_id_is_lowercase_hex_of_fixed_length() {
        for id in [
            "",
            "0af7",
            &TRACE.to_uppercase(),
            &format!("{TRACE}0"),
            SPAN,
        ] {
            assert_eq!(
                TraceId::parse(id),
                Err(IllegalTraceId::Form { digits: 32 }),
                "{id:?}"
            );
        }
        assert_eq!(
            SpanId::parse("b7ad6b716920333g"),
            Err(IllegalTraceId::Form { digits: 16 })
        );
        let json = format!("\"{TRACE}\"");
        let id: TraceId = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), json);
        assert!(serde_json::from_str::<TraceId>("\"x\"").is_err());
    }

    #[test]
    fn valid_traceparents_are_parsed() {
        for (header, is_sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-00"), false),
            (format!("00-{TRACE}-{SPAN}-03"), true),
            (format!("01-{TRACE}-{SPAN}-fe"), false),
            (format!("cc-{TRACE}-{SPAN}-01-what-will-come"), true),
        ] {
            let parent = TraceParent::parse(&header).unwrap();
            assert_eq!(
                (parent.trace_id.as_str(), parent.parent_id.as_str()),
                (TRACE, SPAN)
            );
            assert_eq!(parent.is_sampled, is_sampled, "{header}");
        }
    }

    #[test]
    fn invalid_traceparents_are_refused() {
        use IllegalTraceParent::{Form, Id, Version};
        let zero = Id(IllegalTraceId::Zero);
        for (header, why) in [
            (String::new(), Form),
            (format!("00-{TRACE}-{SPAN}"), Form),
            (format!("00-{TRACE}-{SPAN}-01-"), Form),
            (format!("00-{TRACE}-{SPAN}-01x"), Form),
            (format!("01-{TRACE}-{SPAN}-01x"), Form),
            (format!("00-{TRACE}-{SPAN}-0G"), Form),
            (format!("00-{TRACE}-{SPAN}-+1"), Form),
            (format!(" 0-{TRACE}-{SPAN}-01"), Form),
            (format!("00_{TRACE}_{SPAN}_01"), Form),
            (format!("00-{TRACE}-{SPAN}-ä"), Form),
            (format!("ff-{TRACE}-{SPAN}-01"), Version),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), zero),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), zero),
            (
                format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
                Id(IllegalTraceId::Form { digits: 32 }),
            ),
        ] {
            assert_eq!(TraceParent::parse(&header), Err(why), "{header:?}");
        }
    }

    proptest! {
        #[test]
        fn a_traceparent_survives_its_text(
            trace_id in "[0-9a-f]{31}[1-9a-f]",
            parent_id in "[1-9a-f][0-9a-f]{15}",
            is_sampled: bool,
        ) {
            let parent = TraceParent {
                trace_id: TraceId::parse(trace_id).unwrap(),
                parent_id: SpanId::parse(parent_id).unwrap(),
                is_sampled,
            };
            prop_assert_eq!(TraceParent::parse(&parent.to_string()), Ok(parent));
        }

        #[test]
        fn garbage_does_not_panic(text in any::<String>(), almost in "[0-9a-fg-]{50,60}") {
            for text in [text, almost] {
                if let Ok(parent) = TraceParent::parse(&text) {
                    prop_assert!(text.contains(parent.trace_id.as_str()));
                }
            }
        }

        #[test]
        fn every_id_yields_a_valid_trace_and_span(id in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}") {
            let id = handoff(&id);
            let (trace_id, span_id) = (TraceId::from(&id), SpanId::from(&id));
            prop_assert_eq!(TraceId::parse(trace_id.as_str()), Ok(trace_id));
            prop_assert_eq!(SpanId::parse(span_id.as_str()), Ok(span_id));
        }
    }
}
