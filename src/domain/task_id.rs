//! Ids of tasks.

use super::id;

id::id! {
    /// The id of a task.
    TaskId
}
