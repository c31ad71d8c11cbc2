//! Lists of words and optional fields of a change, as they are read and written.

use std::marker::PhantomData;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Distinguishes an absent field (`None`) from an explicit null (`Some(None)`).
pub(in crate::domain) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Combines [`present`] and [`distinct`].
pub(in crate::domain) fn present_distinct<'de, D, T>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + PartialEq,
{
    distinct(deserializer).map(Some)
}

/// Keeps an absent field out of the JSON: there, null would clear it.
#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
pub(in crate::domain) const fn absent<T>(field: &Option<T>) -> bool {
    field.is_none()
}

/// The limit of roles or skills in one list.
const MOST_WORDS: usize = 50;

/// Removes duplicates and keeps the order.
pub(crate) fn distinct<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + PartialEq,
{
    deserializer.deserialize_seq(DistinctVisitor(PhantomData))
}

/// Stops at the first word too many, so that a long list is never in memory.
struct DistinctVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + PartialEq> Visitor<'de> for DistinctVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = list.next_element()? {
            if all.contains(&item) {
                continue;
            }
            if all.len() == MOST_WORDS {
                return Err(serde::de::Error::custom(format_args!(
                    "must have at most {MOST_WORDS} distinct words"
                )));
            }
            all.push(item);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Skill;

    #[test]
    fn a_list_drops_duplicates_and_has_a_limit() {
        #[derive(Deserialize)]
        struct List(#[serde(deserialize_with = "distinct")] Vec<Skill>);
        let List(skills) = serde_json::from_str(r#"["b", "A", "B", "a"]"#).unwrap();
        assert_eq!(skills, ["b", "a"].map(|word| Skill::parse(word).unwrap()));
        let many: Vec<_> = (0..=MOST_WORDS).map(|n| n.to_string()).collect();
        let many = serde_json::to_string(&many).unwrap();
        assert!(serde_json::from_str::<List>(&many).is_err());
    }
}
