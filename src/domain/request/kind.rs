//! Kinds of work that requests ask for.

use crate::domain::text::word::word;

word! {
    /// What kind of work a request asks for: `[a-z][a-z0-9-]*`, so that it can stand in a tag.
    Kind, IllegalKind, "a kind of work", "implementation"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::word::LONGEST;

    #[test]
    fn a_kind_can_stand_in_a_tag() {
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
