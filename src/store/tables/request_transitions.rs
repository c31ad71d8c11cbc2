//! The table `request_transitions`.

use crate::domain::Transition;
use crate::store::{Result, Tx, params, sql};

pub fn insert(
    tx: &Tx<'_>,
    request_number: i64,
    transition: &Transition,
    is_by_file: bool,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason)
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        ),
        params![
            request_number,
            transition.from,
            transition.to,
            transition.by,
            transition.at,
            is_by_file,
            transition.reason,
        ],
    )?;
    Ok(())
}
