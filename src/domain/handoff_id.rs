//! Ids of hand-offs.

use super::text::id;

id::id! {
    /// The id of a hand-off.
    HandoffId
}
