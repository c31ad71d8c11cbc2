//! The table `idempotency_keys`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::{Idempotency, Refusal};
use crate::store::{Result, StoreError, Tx, View, params, sql};

/// Runs an operation unless its key has been answered, and keeps the answer in the same transaction.
pub(crate) fn once<T: Serialize + DeserializeOwned>(
    tx: &mut Tx<'_>,
    asked: Option<&Idempotency>,
    run: impl FnOnce(&mut Tx<'_>) -> Result<T>,
) -> Result<T> {
    let Some(Idempotency { key, fingerprint }) = asked else {
        return run(tx);
    };
    let known = tx.row(
        sql!("SELECT fingerprint, answer FROM idempotency_keys WHERE key = $1"),
        params![key.as_str()],
        |row| Ok((row.get::<[u8; 32]>(0)?, row.get::<String>(1)?)),
    )?;
    match known {
        Some((known, answer)) if known == *fingerprint => {
            serde_json::from_str(&answer).map_err(StoreError::inconsistent)
        }
        Some(_) => Err(Refusal::KeyReused.into()),
        None => {
            let value = run(tx)?;
            let answer = serde_json::to_string(&value).map_err(StoreError::inconsistent)?;
            tx.insert(
                sql!("INSERT INTO idempotency_keys (key, fingerprint, created_at, answer) VALUES ($1, $2, $3, $4)"),
                params![key.as_str(), fingerprint, tx.now.as_millis(), answer],
            )?;
            Ok(value)
        }
    }
}

/// Finds the answer of a request that was carried out before.
pub(crate) fn find<T: DeserializeOwned>(view: &View<'_>, once: &Idempotency) -> Result<Option<T>> {
    view.row(
        sql!("SELECT answer FROM idempotency_keys WHERE key = $1 AND fingerprint = $2"),
        params![once.key.as_str(), once.fingerprint],
        |row| row.json(0),
    )
}

/// Forgets the keys that are older than so many milliseconds. They are the first rows, because time never goes back.
pub(crate) fn forget_older_than(tx: &Tx<'_>, millis: i64) -> Result<usize> {
    tx.execute(
        sql!(
            "DELETE FROM idempotency_keys
              WHERE number < coalesce((SELECT number FROM idempotency_keys WHERE created_at >= $1 ORDER BY number LIMIT 1),
                                      9223372036854775807)"
        ),
        params![tx.now.as_millis().saturating_sub(millis)],
    )
}
