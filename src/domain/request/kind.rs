//! Kinds of requested work.

use crate::domain::text::word::word;

word! {
    /// The kind of requested work: `[a-z][a-z0-9-]*`, so that it can be part of a tag.
    Kind, IllegalKind, "a kind of work", "implementation"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::word::LONGEST;

    #[test]
    fn a_kind_is_valid_in_a_tag() {
        for kind in ["fix", "my-kind2", "x"] {
            assert_eq!(Kind::parse(kind).unwrap().as_str(), kind);
        }
        let long = "x".repeat(LONGEST + 1);
        for kind in [
            "", "Fix", "2fix", "-fix", "a b", "a_b", "fix\n", "é", "../x", &long,
        ] {
            assert_eq!(Kind::parse(kind), Err(IllegalKind), "{kind:?}");
        }
    }
}
