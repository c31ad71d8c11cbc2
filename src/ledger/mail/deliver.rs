//! Delivering mail: putting it into the prompt of a hand-off.

use super::post::record;
use crate::domain::{AgentName, EventKind, HandoffId, MailId, Outcome};
use crate::store::tables::handoffs;
use crate::store::tables::mail_recipients::{self, MailCopy};
use crate::store::{Result, Tx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverMail {
    pub handoff_id: HandoffId,
    pub agent_name: AgentName,
    pub ids: Vec<MailId>,
}

/// Records that mail was put into the prompt of a hand-off.
pub fn deliver(tx: &mut Tx<'_>, delivery: &DeliverMail) -> Result<()> {
    let handoff_id = &delivery.handoff_id;
    // A hand-off that was ended meanwhile no longer reads its prompt.
    let Some(handoff_number) = handoffs::find_open_number(tx, handoff_id)? else {
        return Ok(());
    };
    let recipient = delivery.agent_name.as_str();
    for id in &delivery.ids {
        let copy = mail_recipients::find_undelivered(tx, id, recipient, handoff_number)?;
        let Some(copy) = copy else {
            continue;
        };
        mail_recipients::update_delivered(tx, copy.number, handoff_number)?;
        let delivered = EventKind::MailDelivered {
            id: copy.mail_id,
            recipient: copy.recipient,
            handoff_id: handoff_id.clone(),
        };
        record(tx, copy.task_id.as_ref(), delivered)?;
    }
    Ok(())
}

/// Marks the mail in the prompt of a completed hand-off as read. After any other outcome, the next hand-off gets it again.
pub fn mark_read_after_handoff(
    tx: &mut Tx<'_>,
    handoff_number: i64,
    outcome: Outcome,
) -> Result<()> {
    if outcome != Outcome::Completed {
        return Ok(());
    }
    for copy in mail_recipients::unread_of_handoff(tx, handoff_number)? {
        mark_copy_read(tx, copy)?;
    }
    Ok(())
}

/// Marks one recipient's copy of a mail as read.
pub fn mark_copy_read(tx: &mut Tx<'_>, copy: MailCopy) -> Result<()> {
    mail_recipients::update_read(tx, copy.number)?;
    let read = EventKind::MailRead {
        id: copy.mail_id,
        recipient: copy.recipient,
    };
    record(tx, copy.task_id.as_ref(), read)
}
