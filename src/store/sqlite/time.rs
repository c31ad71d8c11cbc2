//! Keeps the stored times in step with the clock, whoever sets it.

use rusqlite::Connection;

use crate::clock::{Clock, Reading};
use crate::domain::Rules;
use crate::store::Result;
use crate::store::tables::{events, idempotency_keys, installation, requests, runs};
use crate::store::tx::{Tx, View};

/// Continues the time of the database.
pub(super) fn resume(clock: &Clock, view: &View<'_>) -> Result<Deadlines> {
    let newest = events::last_time(view)?;
    clock.continue_from(newest, installation::clock_mark(view)?.as_ref());
    Ok(Deadlines { moved: None })
}

/// The steps of the clock for which the deadlines in the database have been moved.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// `None` until the first write, which also stores the clock's mark.
    moved: Option<i64>,
}

impl Deadlines {
    /// For a database without deadlines.
    #[cfg(test)]
    pub const fn none() -> Self {
        Self { moved: Some(0) }
    }

    pub fn are_behind(&self, reading: Reading) -> bool {
        self.moved != Some(reading.skipped)
    }

    /// Moves the deadlines by the new steps, in a transaction of its own, and stores the clock's mark.
    pub fn postpone(
        &mut self,
        connection: &Connection,
        rules: &Rules,
        clock: &Clock,
        reading: Reading,
    ) -> Result<()> {
        let millis = reading.skipped - self.moved.unwrap_or_default();
        let transaction = connection.unchecked_transaction()?;
        let tx = Tx::new(View::new(connection, rules), reading.now);
        if millis > 0 {
            tracing::warn!(
                seconds = millis / 1000,
                "the clock was set forward; leases, idempotency keys and error limits last as much longer"
            );
            requests::postpone_leases(&tx, millis)?;
            idempotency_keys::postpone(&tx, millis)?;
            runs::postpone_error_limits(&tx, millis)?;
        }
        if let Some(mark) = clock.mark() {
            installation::set_clock_mark(&tx, &mark)?;
        }
        transaction.commit()?;
        self.moved = Some(reading.skipped);
        Ok(())
    }
}
