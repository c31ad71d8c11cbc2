//! What becomes of a mail with those who get it: delivered, read, acknowledged.

use super::{load, record};
use crate::domain::{
    Actor, Correspondent, EventKind, Mail, MailId, Outcome, Recipient, Refusal, TaskId,
};
use crate::store::{DeliverMail, MailMark, MarkMail, Result, Row, Statement, Tx, params, sql};

/// Marks a mail for one who gets it. What was said before stays as it was said.
pub(crate) fn mark(tx: &mut Tx<'_>, asked: &MarkMail) -> Result<Mail> {
    const READ: Statement<3> =
        sql!("UPDATE mail_recipients SET read_at = $1 WHERE mail_number = $2 AND recipient = $3");
    const ACKNOWLEDGED: Statement<3> = sql!(
        "UPDATE mail_recipients SET read_at = coalesce(read_at, $1), acknowledged_at = $1
          WHERE mail_number = $2 AND recipient = $3"
    );
    let stored = load(tx, &asked.id)?;
    let mut mail = stored.mail;
    let at = place_of(&mail, asked)?;
    let (now, id) = (tx.now, mail.id.clone());
    let each = &mut mail.recipients[at];
    let recipient = each.recipient.clone();
    let (statement, kind) = match asked.mark {
        MailMark::Read if each.read_at.is_none() => (READ, EventKind::MailRead { id, recipient }),
        MailMark::Acknowledged if each.acknowledged_at.is_none() => {
            each.acknowledged_at = Some(now);
            (ACKNOWLEDGED, EventKind::MailAcknowledged { id, recipient })
        }
        MailMark::Read | MailMark::Acknowledged => return Ok(mail),
    };
    each.read_at.get_or_insert(now);
    tx.execute(
        statement,
        params![now.as_millis(), stored.number, each.recipient.as_str()],
    )?;
    record(tx, mail.task_id.as_ref(), kind)?;
    Ok(mail)
}

/// Finds for whom a mail is to be marked. A run speaks for its own agent, and nobody but the operator for the operator.
fn place_of(mail: &Mail, asked: &MarkMail) -> Result<usize> {
    let find = |who: &str| {
        let is_meant = |each: &Recipient| each.recipient.is(who);
        mail.recipients.iter().position(is_meant)
    };
    if let Actor::Run(run) = &asked.by {
        return find(run.agent_name.as_str()).ok_or_else(|| {
            let (id, agent) = (mail.id.clone(), run.agent_name.clone());
            Refusal::NotItsMail { id, agent }.into()
        });
    }
    let found = match &asked.recipient {
        Some(who) => find(who.as_str()),
        None if mail.recipients.len() == 1 => Some(0),
        None => find(Correspondent::OPERATOR),
    };
    let at = found.ok_or_else(|| Refusal::NoSuchRecipient {
        id: mail.id.clone(),
        asked: asked.recipient.clone(),
        recipients: mail
            .recipients
            .iter()
            .map(|each| each.recipient.clone())
            .collect(),
    })?;
    let is_operators = mail.recipients[at].recipient.is(Correspondent::OPERATOR);
    if is_operators && asked.by != Actor::Operator {
        return Err(Refusal::OperatorsMail(mail.id.clone()).into());
    }
    Ok(at)
}

/// A row of somebody who gets a mail.
struct Copy {
    number: i64,
    mail_id: MailId,
    recipient: Correspondent,
    task_id: Option<TaskId>,
}

macro_rules! select_copies {
    () => {
        "SELECT r.number, m.id, r.recipient, t.id
           FROM mail_recipients r JOIN mail m ON m.number = r.mail_number LEFT JOIN tasks t ON t.number = m.task_number"
    };
}

fn copy(row: &Row<'_>) -> Result<Copy> {
    Ok(Copy {
        number: row.integer(0)?,
        mail_id: row.parsed(1)?,
        recipient: row.parsed(2)?,
        task_id: row.optional_parsed(3)?,
    })
}

/// Writes down that mail was put into the prompt of a hand-off. When it was first put into one stays.
pub(crate) fn deliver(tx: &mut Tx<'_>, delivery: &DeliverMail) -> Result<()> {
    const ONE: Statement<3> = sql!(
        select_copies!(),
        " WHERE m.id = $1 AND r.recipient = $2 AND r.delivered_handoff_number IS NOT $3"
    );
    let handoff_id = &delivery.handoff_id;
    // A hand-off that was ended from outside in the meantime reads nothing any more.
    let Some(handoff_number) = tx.row(
        sql!("SELECT number FROM handoffs WHERE id = $1 AND completed_at IS NULL"),
        params![handoff_id.as_str()],
        |row| row.integer(0),
    )?
    else {
        return Ok(());
    };
    for id in &delivery.ids {
        let recipient = delivery.agent_name.as_str();
        let of_mail = params![id, recipient, handoff_number];
        let Some(copy) = tx.row(ONE, of_mail, |row| copy(row))? else {
            continue;
        };
        tx.execute(
            sql!(
                "UPDATE mail_recipients SET delivered_at = coalesce(delivered_at, $1), delivered_handoff_number = $2
                  WHERE number = $3"
            ),
            params![tx.now.as_millis(), handoff_number, copy.number],
        )?;
        let delivered = EventKind::MailDelivered {
            id: copy.mail_id,
            recipient: copy.recipient,
            handoff_id: handoff_id.clone(),
        };
        record(tx, copy.task_id.as_ref(), delivered)?;
    }
    Ok(())
}

/// Takes what was put into the prompt of a hand-off as read if that was completed. If not, the next one gets it again.
pub(crate) fn handoff_ended(tx: &mut Tx<'_>, handoff_number: i64, outcome: Outcome) -> Result<()> {
    const DELIVERED: Statement<1> = sql!(
        select_copies!(),
        " WHERE r.delivered_handoff_number = $1 AND r.read_at IS NULL ORDER BY r.number"
    );
    if outcome != Outcome::Completed {
        return Ok(());
    }
    for each in tx.rows(DELIVERED, params![handoff_number], |row| copy(row))? {
        tx.execute(
            sql!("UPDATE mail_recipients SET read_at = $1 WHERE number = $2"),
            params![tx.now.as_millis(), each.number],
        )?;
        let read = EventKind::MailRead {
            id: each.mail_id,
            recipient: each.recipient,
        };
        record(tx, each.task_id.as_ref(), read)?;
    }
    Ok(())
}
