//! Marking a mail as read or acknowledged.

use super::list::load;
use super::post::record;
use crate::domain::{Caller, Correspondent, EventKind, Mail, MailId, Recipient, Refusal};
use crate::ledger::rights;
use crate::store::tables::mail_recipients;
use crate::store::{Result, Tx};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailMark {
    Read,
    /// Read and confirmed.
    Acknowledged,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkMail {
    pub id: MailId,
    pub mark: MailMark,
    /// The recipient that marks the mail; ignored for a run, which marks for its own agent.
    pub recipient: Option<Correspondent>,
    pub caller: Caller,
}

/// Marks a mail for one of its recipients. An earlier mark keeps its time.
pub fn mark(tx: &mut Tx<'_>, asked: &MarkMail) -> Result<Mail> {
    let stored = load(tx, &asked.id)?;
    let mut mail = stored.mail;
    let place = find_recipient(&mail, asked)?;
    let (now, id) = (tx.now, mail.id.clone());
    let marked = &mut mail.recipients[place];
    let recipient = marked.recipient.clone();
    let kind = match asked.mark {
        MailMark::Read if marked.read_at.is_none() => EventKind::MailRead { id, recipient },
        MailMark::Acknowledged if marked.acknowledged_at.is_none() => {
            marked.acknowledged_at = Some(now);
            EventKind::MailAcknowledged { id, recipient }
        }
        MailMark::Read | MailMark::Acknowledged => return Ok(mail),
    };
    marked.read_at.get_or_insert(now);
    mail_recipients::update_marks(tx, stored.number, marked)?;
    record(tx, mail.task_id.as_ref(), kind)?;
    Ok(mail)
}

/// Finds the recipient that marks a mail: the agent of a calling run, otherwise the recipient that the caller names.
fn find_recipient(mail: &Mail, asked: &MarkMail) -> Result<usize> {
    let find = |name: &str| {
        let is_same = |each: &Recipient| each.recipient.is_named(name);
        mail.recipients.iter().position(is_same)
    };
    let found = match (asked.caller.run(), &asked.recipient) {
        (Some(run), _) => find(run.agent_name.as_str()),
        (None, Some(recipient)) => find(recipient.as_str()),
        (None, None) if mail.recipients.len() == 1 => Some(0),
        (None, None) => find(Correspondent::OPERATOR),
    };
    let recipient = found.map(|place| &mail.recipients[place].recipient);
    rights::may_mark_mail(&asked.caller, &mail.id, recipient)?;
    let place = found.ok_or_else(|| Refusal::NoSuchRecipient {
        id: mail.id.clone(),
        asked: asked.recipient.clone(),
        recipients: mail
            .recipients
            .iter()
            .map(|each| each.recipient.clone())
            .collect(),
    })?;
    Ok(place)
}
