//! Ids of hand-offs.

use super::id;

id::id! {
    /// The id of a hand-off.
    HandoffId
}
