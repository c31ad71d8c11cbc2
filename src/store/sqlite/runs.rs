//! The table `runs`.

use rusqlite::params;

use super::row::Columns;
use super::sql::sql;
use super::writer::Tx;
use crate::domain::{Outcome, Run, RunId, RunState, Timestamp};
use crate::store::{Result, StoreError};

/// Queues the first run of a hand-off.
pub(super) fn queue(tx: &Tx<'_>, handoff_number: i64, at: Timestamp) -> Result<()> {
    tx.insert(
        sql!("INSERT INTO runs (id, handoff_number, attempt, state, queued_at) VALUES ($1, $2, 1, 'queued', $3)"),
        params![RunId::new().as_str(), handoff_number, at.as_millis()],
    )?;
    Ok(())
}

/// Ends the run of a hand-off that has not ended, if there is one.
pub(super) fn end(tx: &Tx<'_>, handoff_number: i64, outcome: Outcome) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE runs SET state = 'ended', outcome = $1, ended_at = $2
              WHERE handoff_number = $3 AND state <> 'ended'"
        ),
        params![outcome.as_str(), tx.now.as_millis(), handoff_number],
    )?;
    Ok(())
}

/// Reads a run from a column on, if one was joined.
pub(super) fn from_row(row: &impl Columns, column: usize) -> Result<Option<Run>> {
    let Some(id) = row.optional_parsed(column)? else {
        return Ok(None);
    };
    Ok(Some(Run {
        id,
        attempt: u32::try_from(row.integer(column + 1)?).map_err(StoreError::inconsistent)?,
        state: row.word(column + 2, RunState::parse)?,
        outcome: row.optional_word(column + 3, Outcome::parse)?,
        queued_at: row.timestamp(column + 4)?,
        started_at: row.optional_timestamp(column + 5)?,
        ended_at: row.optional_timestamp(column + 6)?,
    }))
}
