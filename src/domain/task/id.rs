//! Ids of tasks.

use crate::domain::text::id;

id::id! {
    /// The id of a task.
    TaskId
}
