//! Posting a mail with resolved addresses.

use super::addresses::expand;
use crate::domain::{EventKind, Mail, MailVersion, NewMail, TaskId, ThreadId, Timestamp};
use crate::ledger::{history, task};
use crate::store::tables::{mail as table, mail_recipients};
use crate::store::{Result, Tx};

/// Posts a mail: inserts it and its recipients, and records the event `mail_sent`.
///
/// Nothing is written if a role in `to` or `cc` has no agent, or if the task does not exist.
pub fn post(tx: &mut Tx<'_>, new: &NewMail) -> Result<Mail> {
    let recipients = expand(tx, &new.to, &new.cc)?;
    let content = &new.content;
    if let Some(task_id) = &content.task_id {
        task::keys(tx, task_id)?;
    }
    let due = tx.now.as_millis() + content.urgency.ack_millis();
    let thread_id = content.thread_id.clone();
    let mail = Mail {
        id: new.id.clone(),
        version: MailVersion::V1,
        mail_type: content.mail_type,
        from: new.from.clone(),
        from_verified: new.from_verified,
        to: new.to.clone(),
        cc: new.cc.clone(),
        thread_id: thread_id.unwrap_or_else(|| ThreadId::from(&new.id)),
        subject: content.subject.clone(),
        body: content.body.clone(),
        task_id: content.task_id.clone(),
        handoff_id: new.handoff_id.clone(),
        handoff_type: content.handoff_type.clone(),
        context: content.context.clone(),
        previous_attempts: content.previous_attempts,
        urgency: content.urgency,
        ack_required: content.ack_required,
        ack_due_at: content.ack_required.then(|| Timestamp::from_millis(due)),
        sent_at: tx.now,
        recipients,
    };
    insert(tx, &mail)?;
    let recipients = mail.recipients.iter();
    let sent = EventKind::MailSent {
        id: mail.id.clone(),
        mail_type: mail.mail_type,
        from: mail.from.clone(),
        to: recipients.map(|each| each.recipient.clone()).collect(),
        subject: mail.subject.clone(),
    };
    record(tx, mail.task_id.as_ref(), sent)?;
    Ok(mail)
}

/// Inserts a mail and its recipients. Recipients in `cc` need not acknowledge it.
pub fn insert(tx: &Tx<'_>, mail: &Mail) -> Result<()> {
    let number = table::insert(tx, mail)?;
    for recipient in &mail.recipients {
        let ack_due_at = mail.ack_due_at.filter(|_| !recipient.cc);
        mail_recipients::insert(tx, number, recipient, ack_due_at)?;
    }
    Ok(())
}

/// Records an event of a mail, in the history of its task if it has one.
pub(super) fn record(tx: &mut Tx<'_>, task_id: Option<&TaskId>, kind: EventKind) -> Result<()> {
    let keys = task_id.map(|id| task::keys(tx, id)).transpose()?;
    let about = history::About {
        on: task_id.zip(keys.as_ref()).map(|(id, keys)| keys.on(id)),
        ..history::About::default()
    };
    history::record_about(tx, about, kind)
}
