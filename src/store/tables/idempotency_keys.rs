//! The table `idempotency_keys`.

use crate::domain::{Idempotency, IdempotencyKey};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, params, sql};

columns! {
    /// The stored answer, and the fingerprint of the request.
    pub struct Answered {
        pub fingerprint: [u8; 32] = "fingerprint",
        pub answer: String = "answer",
    }
}

pub fn find(view: &View<'_>, key: &IdempotencyKey) -> Result<Option<Answered>> {
    const ONE: Statement<1> = sql!(
        "SELECT ",
        Answered::COLUMNS,
        " FROM idempotency_keys WHERE key = $1"
    );
    view.row(ONE, params![key.as_str()], Answered::from_row)
}

pub fn insert(tx: &Tx<'_>, once: &Idempotency, answer: &str) -> Result<()> {
    tx.insert(
        sql!("INSERT INTO idempotency_keys (key, fingerprint, created_at, answer) VALUES ($1, $2, $3, $4)"),
        params![once.key.as_str(), once.fingerprint, tx.now, answer],
    )?;
    Ok(())
}

/// Deletes the keys that are older than this many milliseconds. Returns their number. The old keys are the first rows, because
/// the ledger's time never goes back.
pub fn delete_older_than(tx: &Tx<'_>, millis: i64) -> Result<usize> {
    tx.execute(
        sql!(
            "DELETE FROM idempotency_keys
              WHERE number < coalesce((SELECT number FROM idempotency_keys WHERE created_at >= $1 ORDER BY number LIMIT 1),
                                      9223372036854775807)"
        ),
        params![tx.now.as_millis().saturating_sub(millis)],
    )
}

/// Makes the keys as much younger as the clock was set forward, so that they are kept as long as promised.
pub fn postpone(tx: &Tx<'_>, millis: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE idempotency_keys SET created_at = created_at + $1"),
        params![millis],
    )?;
    Ok(())
}
