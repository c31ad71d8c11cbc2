//! Ids of increments.

use crate::domain::text::id;

id::id! {
    /// The id of an increment.
    IncrementId
}
