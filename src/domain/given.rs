//! Reads what a change gives, and so tells it from what it does not give.

use serde::{Deserialize, Deserializer};

use super::role::distinct;

/// Tells what is given from what is not: also null is given.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The same for a list in which everything stands once.
pub(super) fn given_words<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + PartialEq,
{
    distinct(deserializer).map(Some)
}
