//! The table `mail`, and mails with their recipients.

use serde_json::{Map, Value};

use super::mail_recipients::{IS_ABOUT_UNSUITED, PackedRecipient};
use crate::domain::{
    Address, Correspondent, HandoffId, Mail, MailId, MailQuery, MailType, MailVersion, Page,
    Recipient, SearchWords, TaskId, Text, ThreadId, Timestamp, Urgency,
};
use crate::store::value::to_json;
use crate::store::{
    FromRow, Item, Json, LARGEST_PAGE, Result, Row, Statement, Tx, View, columns, params, sql, text,
};

#[derive(Debug, Clone)]
pub struct StoredMail {
    pub number: i64,
    pub mail: Mail,
}

columns! {
    /// A whole mail, read in one row and so in one snapshot.
    struct MailRow {
        number: i64 = "m.number",
        id: MailId = "m.id",
        mail_type: MailType = "m.type",
        from: Correspondent = "m.sender",
        from_verified: bool = "m.is_verified",
        to: Json<Vec<Address>> = "m.addressed_to",
        cc: Json<Vec<Address>> = "m.addressed_cc",
        thread_id: ThreadId = "m.thread_id",
        subject: Text = "m.subject",
        body: Text = "m.body",
        task_id: Option<TaskId> = "(SELECT t.id FROM tasks t WHERE t.number = m.task_number)",
        handoff_id: Option<HandoffId> = "(SELECT h.id FROM handoffs h WHERE h.number = m.handoff_number)",
        handoff_type: Option<Text> = "m.handoff_type",
        context: Json<Map<String, Value>> = "m.context",
        previous_attempts: u32 = "m.previous_attempts",
        urgency: Urgency = "m.urgency",
        ack_due_at: Option<Timestamp> = "m.ack_due_at",
        sent_at: Timestamp = "m.sent_at",
        recipients: Json<Vec<PackedRecipient>> = text!(
            "(SELECT ", PackedRecipient::PACKED, " FROM mail_recipients x WHERE x.mail_number = m.number)"
        ),
    }
}

const SELECT: &str = text!("SELECT ", MailRow::COLUMNS, " FROM ");

fn from_row(row: &Row<'_>) -> Result<StoredMail> {
    MailRow::from_row(row).map(StoredMail::from)
}

impl From<MailRow> for StoredMail {
    fn from(row: MailRow) -> Self {
        let Json(mut recipients) = row.recipients;
        recipients.sort_unstable_by_key(|recipient| recipient.number);
        let mail = Mail {
            id: row.id,
            version: MailVersion::V1,
            mail_type: row.mail_type,
            from: row.from,
            from_verified: row.from_verified,
            to: row.to.0,
            cc: row.cc.0,
            thread_id: row.thread_id,
            subject: row.subject,
            body: row.body,
            task_id: row.task_id,
            handoff_id: row.handoff_id,
            handoff_type: row.handoff_type,
            context: row.context.0,
            previous_attempts: row.previous_attempts,
            urgency: row.urgency,
            ack_required: row.ack_due_at.is_some(),
            ack_due_at: row.ack_due_at,
            sent_at: row.sent_at,
            recipients: recipients.into_iter().map(Recipient::from).collect(),
        };
        Self {
            number: row.number,
            mail,
        }
    }
}

pub fn find(view: &View<'_>, id: &MailId) -> Result<Option<StoredMail>> {
    const ONE: Statement<1> = sql!(SELECT, "mail m WHERE m.id = $1");
    view.row(ONE, params![id], from_row)
}

pub fn find_number(view: &View<'_>, id: &MailId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM mail WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

pub fn find_thread(view: &View<'_>, id: &MailId) -> Result<Option<ThreadId>> {
    view.row(
        sql!("SELECT thread_id FROM mail WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

/// Whether the router has mailed the operator since the last hand-off of a task that no agent suits, for a reason.
pub fn was_unsuited_mailed(view: &View<'_>, task_number: i64, reason: &Text) -> Result<bool> {
    const MAILED: Statement<2> = sql!(
        "SELECT 1 FROM mail m WHERE m.task_number = $1 AND ",
        IS_ABOUT_UNSUITED,
        " AND m.context ->> 'waitingReason' = $2
          AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = $1 AND h.started_at >= m.sent_at) LIMIT 1"
    );
    view.has(MAILED, params![task_number, reason])
}

pub fn after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<StoredMail>> {
    const AFTER: Statement<2> = sql!(
        SELECT,
        "mail m WHERE m.number > $1 ORDER BY m.number LIMIT $2"
    );
    view.rows_within(LARGEST_PAGE, AFTER, params![number, limit], from_row)
}

/// Lists the newest mail that a recipient has not read or not acknowledged, newest first.
pub fn newest_pending(view: &View<'_>, recipient: &str, limit: u32) -> Result<Vec<Mail>> {
    const NEWEST: Statement<2> = sql!(
        SELECT,
        "mail_recipients b CROSS JOIN mail m ON m.number = b.mail_number
          WHERE b.recipient = $1 AND (b.read_at IS NULL OR (b.ack_due_at IS NOT NULL AND b.acknowledged_at IS NULL))
          ORDER BY b.mail_number DESC LIMIT $2"
    );
    view.rows(NEWEST, params![recipient, limit], |row| {
        Ok(from_row(row)?.mail)
    })
}

const MAIL: Item<Mail> = Item {
    from_row: |row| Ok(from_row(row)?.mail),
    name: |mail| mail.id.to_string(),
};

/// The conditions of a query. All conditions on recipients apply to the same recipient row.
const MATCHES: &str = " AND EXISTS (SELECT 1 FROM mail_recipients r
                  WHERE r.mail_number = m.number
                    AND ($2 IS NULL OR r.recipient = $2)
                    AND ($3 = 0 OR r.read_at IS NULL)
                    AND ($4 = 0 OR r.read_at IS NULL OR (r.ack_due_at IS NOT NULL AND r.acknowledged_at IS NULL))
                    AND ($5 IS NULL OR (r.ack_due_at < $5 AND r.acknowledged_at IS NULL)))
     AND ($6 IS NULL OR m.sender = $6)
     AND ($7 IS NULL OR m.thread_id = $7)
     AND ($8 IS NULL OR m.task_number = (SELECT number FROM tasks WHERE id = $8))";

/// The statements of a page in one order. Each starts from the narrowest condition, so that its index is used.
struct Pages {
    all: Statement<9>,
    with_words: Statement<10>,
    overdue: Statement<9>,
    thread: Statement<9>,
    task: Statement<9>,
    pending: Statement<9>,
    inbox: Statement<9>,
}

macro_rules! pages {
    ($beyond:literal, $order:literal) => {
        Pages {
            all: sql!(
                SELECT, "mail m WHERE m.number ", $beyond, " $1", MATCHES,
                " ORDER BY m.number", $order, " LIMIT $9"
            ),
            with_words: sql!(
                SELECT, "mail_search s CROSS JOIN mail m ON m.number = s.rowid WHERE s.rowid ", $beyond, " $1", MATCHES,
                " AND mail_search MATCH $9 ORDER BY s.rowid", $order, " LIMIT $10"
            ),
            overdue: sql!(
                SELECT, "mail m WHERE m.number ", $beyond, " $1", MATCHES,
                " AND m.number IN (SELECT o.mail_number FROM mail_recipients o
                                    WHERE o.ack_due_at IS NOT NULL AND o.acknowledged_at IS NULL AND o.ack_due_at < $5)
                  ORDER BY m.number", $order, " LIMIT $9"
            ),
            thread: sql!(
                SELECT, "mail m INDEXED BY mail_by_thread WHERE m.number ", $beyond, " $1", MATCHES,
                " AND m.thread_id = $7 ORDER BY m.number", $order, " LIMIT $9"
            ),
            task: sql!(
                SELECT, "mail m INDEXED BY mail_by_task WHERE m.number ", $beyond, " $1", MATCHES,
                " AND m.task_number = (SELECT number FROM tasks WHERE id = $8) ORDER BY m.number", $order, " LIMIT $9"
            ),
            pending: sql!(
                SELECT, "mail_recipients b CROSS JOIN mail m ON m.number = b.mail_number WHERE b.mail_number ", $beyond, " $1", MATCHES,
                " AND b.recipient = $2
                  AND (b.read_at IS NULL OR (b.ack_due_at IS NOT NULL AND b.acknowledged_at IS NULL))
                  ORDER BY b.mail_number", $order, " LIMIT $9"
            ),
            inbox: sql!(
                SELECT, "mail_recipients b CROSS JOIN mail m ON m.number = b.mail_number WHERE b.mail_number ", $beyond, " $1", MATCHES,
                " AND b.recipient = $2 ORDER BY b.mail_number", $order, " LIMIT $9"
            ),
        }
    };
}

const OLDEST_FIRST: Pages = pages!(">", "");
const NEWEST_FIRST: Pages = pages!("<", " DESC");

/// Lists a page of mail.
pub fn page(view: &View<'_>, query: &MailQuery, after_number: Option<i64>) -> Result<Page<Mail>> {
    let (pages, start) = if query.newest {
        (NEWEST_FIRST, i64::MAX)
    } else {
        (OLDEST_FIRST, 0)
    };
    let after_number = after_number.unwrap_or(start);
    let (to, from) = (&query.to, &query.from);
    let (unread, pending, overdue_at) = (query.unread, query.pending, query.overdue_at);
    let (thread, task) = (&query.thread, &query.task);
    let (limit, more) = (query.limit, query.limit + 1);
    macro_rules! page_of {
        ($statement:expr $(, $words:expr)?) => {
            view.page(
                $statement,
                params![after_number, to, unread, pending, overdue_at, from, thread, task $(, $words)?, more],
                limit,
                &MAIL,
            )
        };
    }
    if let Some(words) = &query.words {
        page_of!(pages.with_words, match_expression(words))
    } else if overdue_at.is_some() {
        page_of!(pages.overdue)
    } else if thread.is_some() {
        page_of!(pages.thread)
    } else if task.is_some() {
        page_of!(pages.task)
    } else if to.is_some() && (unread || pending) {
        page_of!(pages.pending)
    } else if to.is_some() {
        page_of!(pages.inbox)
    } else {
        page_of!(pages.all)
    }
}

/// Writes an FTS5 expression. Quoted words are never operators.
fn match_expression(words: &SearchWords) -> String {
    let quoted = |word: &String| format!("\"{}\"", word.replace('"', "\"\""));
    let quoted: Vec<_> = words.as_slice().iter().map(quoted).collect();
    quoted.join(" ")
}

/// Inserts a mail without its recipients. Returns its number. Dangling references to a task or a hand-off become NULL.
pub fn insert(tx: &Tx<'_>, mail: &Mail) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO mail (id, type, sender, is_verified, addressed_to, addressed_cc, thread_id, task_number,
                               handoff_number, handoff_type, previous_attempts, urgency, ack_due_at, sent_at, subject,
                               context, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT number FROM tasks WHERE id = $8),
                     (SELECT number FROM handoffs WHERE id = $9), $10, $11, $12, $13, $14, $15, $16, $17)"
        ),
        params![
            mail.id,
            mail.mail_type,
            mail.from,
            mail.from_verified,
            to_json(&mail.to),
            to_json(&mail.cc),
            mail.thread_id,
            mail.task_id,
            mail.handoff_id,
            mail.handoff_type,
            mail.previous_attempts,
            mail.urgency,
            mail.ack_due_at,
            mail.sent_at,
            mail.subject,
            to_json(&mail.context),
            mail.body,
        ],
    )
}
