//! The table `mail_recipients`.

use crate::domain::{Correspondent, HandoffId, MailId, Recipient, TaskId, Timestamp};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, packed, params, sql, text};

packed! {
    /// A recipient, packed into the row of its mail.
    pub struct PackedRecipient {
        pub number: i64 = "x.number",
        recipient: Correspondent = "x.recipient",
        is_cc: u8 = "x.is_cc",
        delivered_at: Option<Timestamp> = "x.delivered_at",
        read_at: Option<Timestamp> = "x.read_at",
        acknowledged_at: Option<Timestamp> = "x.acknowledged_at",
        handoff_id: Option<HandoffId> = "(SELECT g.id FROM handoffs g WHERE g.number = x.delivered_handoff_number)",
    }
}

impl From<PackedRecipient> for Recipient {
    fn from(packed: PackedRecipient) -> Self {
        Self {
            recipient: packed.recipient,
            cc: packed.is_cc != 0,
            delivered_at: packed.delivered_at,
            read_at: packed.read_at,
            acknowledged_at: packed.acknowledged_at,
            handoff_id: packed.handoff_id,
        }
    }
}

columns! {
    /// The mail of one recipient.
    pub struct MailCopy {
        pub number: i64 = "r.number",
        pub mail_id: MailId = "m.id",
        pub recipient: Correspondent = "r.recipient",
        pub task_id: Option<TaskId> = "t.id",
    }
}

const SELECT: &str = text!(
    "SELECT ",
    MailCopy::COLUMNS,
    " FROM mail_recipients r JOIN mail m ON m.number = r.mail_number LEFT JOIN tasks t ON t.number = m.task_number"
);

/// Finds a recipient's copy of a mail, unless it was already delivered to the hand-off.
pub fn find_undelivered(
    view: &View<'_>,
    mail_id: &MailId,
    recipient: &str,
    handoff_number: i64,
) -> Result<Option<MailCopy>> {
    const UNDELIVERED: Statement<3> = sql!(
        SELECT,
        " WHERE m.id = $1 AND r.recipient = $2 AND r.delivered_handoff_number IS NOT $3"
    );
    let arguments = params![mail_id, recipient, handoff_number];
    view.row(UNDELIVERED, arguments, MailCopy::from_row)
}

/// Lists the unread copies that were last delivered to a hand-off.
pub fn unread_of_handoff(view: &View<'_>, handoff_number: i64) -> Result<Vec<MailCopy>> {
    const UNREAD: Statement<1> = sql!(
        SELECT,
        " WHERE r.delivered_handoff_number = $1 AND r.read_at IS NULL ORDER BY r.number"
    );
    view.rows(UNREAD, params![handoff_number], MailCopy::from_row)
}

/// The condition on a mail `m` from the router that no agent suits its task.
pub(super) const IS_ABOUT_UNSUITED: &str =
    "m.sender = 'router' AND m.context ->> 'waitingReason' IS NOT NULL";

/// Lists the operator's unread copies of the mail that no agent suits a task.
pub fn unread_about_unsuited(view: &View<'_>, task_number: i64) -> Result<Vec<MailCopy>> {
    const UNREAD: Statement<1> = sql!(
        SELECT,
        " WHERE m.task_number = $1 AND r.recipient = 'operator' AND r.read_at IS NULL AND ",
        IS_ABOUT_UNSUITED,
        " ORDER BY r.number"
    );
    view.rows(UNREAD, params![task_number], MailCopy::from_row)
}

/// Counts the mail that a recipient has not read or not acknowledged.
pub fn count_pending(view: &View<'_>, recipient: &str) -> Result<usize> {
    view.one(
        sql!(
            "SELECT count(*) FROM mail_recipients
              WHERE recipient = $1 AND (read_at IS NULL OR (ack_due_at IS NOT NULL AND acknowledged_at IS NULL))"
        ),
        params![recipient],
        |row| row.get(0),
    )
}

/// Inserts a recipient of a mail. With a due time, the recipient must acknowledge the mail.
pub fn insert(
    tx: &Tx<'_>,
    mail_number: i64,
    recipient: &Recipient,
    ack_due_at: Option<Timestamp>,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO mail_recipients (mail_number, recipient, is_cc, ack_due_at, delivered_at, read_at,
                                          acknowledged_at, delivered_handoff_number)
             VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT number FROM handoffs WHERE id = $8))"
        ),
        params![
            mail_number,
            recipient.recipient,
            recipient.cc,
            ack_due_at,
            recipient.delivered_at,
            recipient.read_at,
            recipient.acknowledged_at,
            recipient.handoff_id,
        ],
    )?;
    Ok(())
}

/// Saves the times at which a recipient read and acknowledged a mail.
pub fn update_marks(tx: &Tx<'_>, mail_number: i64, recipient: &Recipient) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE mail_recipients SET read_at = $1, acknowledged_at = $2
              WHERE mail_number = $3 AND recipient = $4"
        ),
        params![
            recipient.read_at,
            recipient.acknowledged_at,
            mail_number,
            recipient.recipient,
        ],
    )?;
    Ok(())
}

pub fn update_read(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE mail_recipients SET read_at = $1 WHERE number = $2"),
        params![tx.now, number],
    )?;
    Ok(())
}

/// Marks a copy as delivered to a hand-off. The time of the first delivery stays.
pub fn update_delivered(tx: &Tx<'_>, number: i64, handoff_number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE mail_recipients SET delivered_at = coalesce(delivered_at, $1), delivered_handoff_number = $2
              WHERE number = $3"
        ),
        params![tx.now, handoff_number, number],
    )?;
    Ok(())
}
