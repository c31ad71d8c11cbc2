//! Idempotency keys: a repeated operation is carried out once.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::{Idempotency, Refusal};
use crate::store::tables::idempotency_keys;
use crate::store::{Result, StoreError, Tx, View};

/// Runs an operation unless its key has an answer, and stores the answer in the same transaction.
pub fn once<T: Serialize + DeserializeOwned>(
    tx: &mut Tx<'_>,
    once: Option<&Idempotency>,
    run: impl FnOnce(&mut Tx<'_>) -> Result<T>,
) -> Result<T> {
    let Some(once) = once else {
        return run(tx);
    };
    match idempotency_keys::find(tx, &once.key)? {
        Some(known) if known.fingerprint == once.fingerprint => read_answer(&known.answer),
        Some(_) => Err(Refusal::KeyReused.into()),
        None => {
            let value = run(tx)?;
            let answer = serde_json::to_string(&value).map_err(StoreError::inconsistent)?;
            idempotency_keys::insert(tx, once, &answer)?;
            Ok(value)
        }
    }
}

pub fn find_answer<T: DeserializeOwned>(view: &View<'_>, once: &Idempotency) -> Result<Option<T>> {
    let known = idempotency_keys::find(view, &once.key)?;
    let same = known.filter(|known| known.fingerprint == once.fingerprint);
    same.map(|known| read_answer(&known.answer)).transpose()
}

fn read_answer<T: DeserializeOwned>(answer: &str) -> Result<T> {
    serde_json::from_str(answer).map_err(StoreError::inconsistent)
}

/// Deletes the keys that are older than this many milliseconds. Returns their number.
pub fn delete_older_than(tx: &mut Tx<'_>, millis: i64) -> Result<usize> {
    idempotency_keys::delete_older_than(tx, millis)
}
