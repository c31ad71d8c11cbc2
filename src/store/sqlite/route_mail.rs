//! The mail that the router sends.

use super::handoffs::Begun;
use super::tasks::StoredTask;
use super::writer::Tx;
use crate::domain::Text;
use crate::store::Result;

/// Mails the agent what it is given.
pub(super) fn announce(_tx: &mut Tx<'_>, _begun: &Begun) -> Result<()> {
    Ok(())
}

/// Mails the operator that something needs a person.
pub(super) fn tell_operator(_tx: &mut Tx<'_>, _on: &StoredTask, _reason: &Text) -> Result<()> {
    Ok(())
}
