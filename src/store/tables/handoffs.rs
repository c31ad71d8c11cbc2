//! The table `handoffs`.

use crate::domain::HandoffId;
use crate::store::{Result, View, params, sql};

/// Finds the number of a hand-off.
pub fn find_number(view: &View<'_>, id: &HandoffId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM handoffs WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

/// Finds the number of a hand-off that has not ended.
pub fn find_open_number(view: &View<'_>, id: &HandoffId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM handoffs WHERE id = $1 AND completed_at IS NULL"),
        params![id],
        |row| row.get(0),
    )
}
