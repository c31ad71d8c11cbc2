//! The table `messages`.

use rusqlite::params;

use super::sql::sql;
use super::writer::Tx;
use crate::domain::NewMessage;
use crate::store::Result;

/// How many bytes of a message its event shows.
pub(super) const SHOWN_IN_EVENTS: usize = 2000;

/// Inserts a message's row.
pub(super) fn insert(
    tx: &Tx<'_>,
    task_number: i64,
    handoff_number: i64,
    message: &NewMessage,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO messages (task_number, handoff_number, occurred_at, type, content)
             VALUES ($1, $2, $3, $4, $5)"
        ),
        params![
            task_number,
            handoff_number,
            tx.now.as_millis(),
            message.message_type.as_str(),
            message.content.as_str()
        ],
    )?;
    Ok(())
}
