//! Ids of increments.

use super::text::id;

id::id! {
    /// The id of an increment.
    IncrementId
}
