//! Ids of hand-offs.

use crate::domain::text::id;

id::id! {
    /// The id of a hand-off.
    HandoffId
}
