//! Recording the messages of an agent during its run.

use crate::domain::{NewMessage, RunId};
use crate::ledger::message;
use crate::store::tables::runs;
use crate::store::{Result, Tx};

use super::find::{number, place};

/// Records messages of an agent, and the offset up to which its output was read. Ignores a run that was ended on request: the
/// rest of its output is in its log.
pub fn record_messages(
    tx: &mut Tx<'_>,
    id: &RunId,
    messages: &[NewMessage],
    followed_bytes: u64,
) -> Result<()> {
    let number = number(tx, id)?;
    if !runs::update_followed_bytes(tx, number, followed_bytes)? {
        return Ok(());
    }
    let place = place(tx, number)?;
    let handoff = Some((&place.handoff_id, place.handoff_number));
    for message in messages {
        message::record(tx, place.on(), handoff, message)?;
    }
    Ok(())
}
