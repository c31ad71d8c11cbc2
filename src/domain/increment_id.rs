//! Ids of increments.

use super::id;

id::id! {
    /// The id of an increment.
    IncrementId
}
