//! The tables `mail` and `mail_recipients`: reading, inserting and sending whole mails.
//!
//! [`asked`] finds out who is meant, [`lists`] has what is asked for, [`marks`] writes down what becomes of a mail.

mod asked;
mod lists;
mod marks;

use serde_json::Value;

use crate::domain::{
    Correspondent, EventKind, HandoffId, Mail, MailId, MailType, MailVersion, NewMail, Recipient,
    Refusal, TaskId, Text, ThreadId, Timestamp, Urgency,
};
use crate::ledger::{history, task};

pub(crate) use asked::send_asked;
pub(crate) use lists::{find, list, pending};
pub(crate) use marks::{deliver, handoff_ended, mark};

/// A mail with its number.
pub(crate) struct StoredMail {
    pub number: i64,
    pub mail: Mail,
}

/// A recipient, as [`select_mail`] packs it.
type PackedRecipient = (
    i64,
    Correspondent,
    u8,
    Option<Timestamp>,
    Option<Timestamp>,
    Option<Timestamp>,
);

/// Selects whole mails, each in one row and so at one moment, from something that has `mail m`.
macro_rules! select_mail {
    ($from:literal) => {
        concat!(
            "SELECT m.number, m.id, m.type, m.sender, m.is_verified, m.addressed_to, m.addressed_cc, m.thread_id, m.subject,
                    m.body, (SELECT t.id FROM tasks t WHERE t.number = m.task_number),
                    (SELECT h.id FROM handoffs h WHERE h.number = m.handoff_number), m.handoff_type, m.context,
                    m.previous_attempts, m.urgency, m.ack_due_at, m.sent_at,
                    (SELECT json_group_array(json_array(x.number, x.recipient, x.is_cc, x.delivered_at, x.read_at,
                                                        x.acknowledged_at))
                       FROM mail_recipients x WHERE x.mail_number = m.number)
               FROM ",
            $from
        )
    };
}
use crate::store::{Result, Row, Statement, Tx, params, sql};
use select_mail;

/// Selects whole mails behind a number.
pub(crate) const SELECT_ARCHIVE: Statement<2> = sql!(
    select_mail!("mail m"),
    " WHERE m.number > $1 ORDER BY m.number LIMIT $2"
);

const ONE: Statement<1> = sql!(select_mail!("mail m"), " WHERE m.id = $1");

pub(crate) fn from_row(row: &Row<'_>) -> Result<StoredMail> {
    let mut recipients: Vec<PackedRecipient> = row.json(18)?;
    recipients.sort_unstable_by_key(|packed| packed.0);
    let ack_due_at = row.optional_timestamp(16)?;
    let mail = Mail {
        id: row.parsed(1)?,
        version: MailVersion::V1,
        mail_type: row.word(2, MailType::parse)?,
        from: row.parsed(3)?,
        from_verified: row.integer(4)? != 0,
        to: row.json(5)?,
        cc: row.json(6)?,
        thread_id: row.parsed(7)?,
        subject: row.text(8)?,
        body: row.text(9)?,
        task_id: row.optional_parsed(10)?,
        handoff_id: row.optional_parsed(11)?,
        handoff_type: row.optional_text(12)?,
        context: row.json(13)?,
        previous_attempts: row.unsigned(14)?,
        urgency: row.word(15, Urgency::parse)?,
        ack_required: ack_due_at.is_some(),
        ack_due_at,
        sent_at: row.timestamp(17)?,
        recipients: recipients.into_iter().map(unpack).collect(),
    };
    Ok(StoredMail {
        number: row.integer(0)?,
        mail,
    })
}

fn unpack(
    (_, recipient, cc, delivered_at, read_at, acknowledged_at): PackedRecipient,
) -> Recipient {
    Recipient {
        recipient,
        cc: cc != 0,
        delivered_at,
        read_at,
        acknowledged_at,
    }
}

/// Loads the mail that an operation is about.
fn load(tx: &Tx<'_>, id: &MailId) -> Result<StoredMail> {
    tx.row(ONE, params![id.as_str()], |row| from_row(row))?
        .ok_or_else(|| Refusal::MailNotFound(id.to_string()).into())
}

/// Inserts a mail and those who get it. What it refers to and is not there, it refers to no more.
pub(crate) fn insert(tx: &Tx<'_>, mail: &Mail) -> Result<()> {
    let number = tx.insert(
        sql!(
            "INSERT INTO mail (id, type, sender, is_verified, addressed_to, addressed_cc, thread_id, task_number,
                               handoff_number, handoff_type, previous_attempts, urgency, ack_due_at, sent_at, subject,
                               context, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT number FROM tasks WHERE id = $8),
                     (SELECT number FROM handoffs WHERE id = $9), $10, $11, $12, $13, $14, $15, $16, $17)"
        ),
        params![
            mail.id.as_str(),
            mail.mail_type.as_str(),
            mail.from.as_str(),
            mail.from_verified,
            serde_json::to_string(&mail.to).expect("addresses are JSON"),
            serde_json::to_string(&mail.cc).expect("addresses are JSON"),
            mail.thread_id.as_str(),
            mail.task_id.as_ref().map(TaskId::as_str),
            mail.handoff_id.as_ref().map(HandoffId::as_str),
            mail.handoff_type.as_ref().map(Text::as_str),
            mail.previous_attempts,
            mail.urgency.as_str(),
            mail.ack_due_at.map(Timestamp::as_millis),
            mail.sent_at.as_millis(),
            mail.subject.as_str(),
            Value::Object(mail.context.clone()).to_string(),
            mail.body.as_str(),
        ],
    )?;
    for each in &mail.recipients {
        tx.insert(
            sql!(
                "INSERT INTO mail_recipients (mail_number, recipient, is_cc, ack_due_at, delivered_at, read_at,
                                              acknowledged_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)"
            ),
            params![
                number,
                each.recipient.as_str(),
                each.cc,
                mail.ack_due_at.filter(|_| !each.cc).map(Timestamp::as_millis),
                each.delivered_at.map(Timestamp::as_millis),
                each.read_at.map(Timestamp::as_millis),
                each.acknowledged_at.map(Timestamp::as_millis),
            ],
        )?;
    }
    Ok(())
}

/// Sends a mail in the caller's transaction: writes it, a row for each who gets it, and the event `mail_sent`.
///
/// A role in `to` or `cc` stands for all agents that have it now; it is refused if none has, or if the task is not there.
/// Nothing is written before that is known.
pub(crate) fn send(tx: &mut Tx<'_>, new: &NewMail) -> Result<Mail> {
    let recipients = asked::expand(tx, &new.to, &new.cc)?;
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
    let sent = EventKind::MailSent {
        id: mail.id.clone(),
        mail_type: mail.mail_type,
        from: mail.from.clone(),
        to: mail
            .recipients
            .iter()
            .map(|each| each.recipient.clone())
            .collect(),
        subject: mail.subject.clone(),
    };
    record(tx, mail.task_id.as_ref(), sent)?;
    Ok(mail)
}

/// Tells what happened to a mail, also in the history of the task that it is about.
fn record(tx: &mut Tx<'_>, task_id: Option<&TaskId>, kind: EventKind) -> Result<()> {
    let place = task_id.map(|id| task::keys(tx, id)).transpose()?;
    let about = history::About {
        on: task_id.zip(place.as_ref()).map(|(id, place)| place.on(id)),
        ..history::About::default()
    };
    history::record_about(tx, about, kind)
}
