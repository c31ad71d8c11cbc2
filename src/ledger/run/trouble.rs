//! Recording that the program of a run prints nothing but errors.

use std::time::Duration;

use crate::domain::{MessageType, NewMessage, RunId, Text};
use crate::ledger::message;
use crate::store::tables::runs;
use crate::store::{Result, Tx};

use super::find::{number, place};

/// The errors of a run whose program makes no progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// The last error; `None` if the program continues.
    pub last_error: Option<Text>,
    /// Errors that are not part of the agent's output.
    pub messages: Vec<Text>,
    /// The bytes of standard error from which the messages were read.
    pub read_to: u64,
}

/// Records the errors of a run, or that it continues, and returns for how long it has had nothing but errors. Ignores a run that has
/// ended.
pub fn record_trouble(tx: &mut Tx<'_>, id: &RunId, trouble: &Trouble) -> Result<Duration> {
    let number = number(tx, id)?;
    if !runs::update_trouble(tx, number, trouble.last_error.as_ref(), trouble.read_to)? {
        return Ok(Duration::ZERO);
    }
    let place = place(tx, number)?;
    let handoff = Some((&place.handoff_id, place.handoff_number));
    for error in &trouble.messages {
        let message = NewMessage {
            message_type: MessageType::Error,
            content: error.clone(),
            data: None,
        };
        message::record(tx, place.on(), handoff, &message)?;
    }
    let since = runs::find_failing_since(tx, number)?.unwrap_or(tx.now);
    let millis = tx.now.as_millis().saturating_sub(since.as_millis());
    Ok(Duration::from_millis(
        u64::try_from(millis).unwrap_or_default(),
    ))
}
