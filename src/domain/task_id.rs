//! Ids of tasks.

use super::text::id;

id::id! {
    /// The id of a task.
    TaskId
}
