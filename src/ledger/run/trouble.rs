//! Recording that the program of a run prints nothing but errors.

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
}

/// Records the errors of a run, or that it continues. Ignores a run that has ended.
pub fn record_trouble(tx: &mut Tx<'_>, id: &RunId, trouble: &Trouble) -> Result<()> {
    let number = number(tx, id)?;
    if !runs::update_trouble(tx, number, trouble.last_error.as_ref())? {
        return Ok(());
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
    Ok(())
}
