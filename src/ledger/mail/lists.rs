//! Finding mail.

use serde_json::Value;

use super::{ONE, from_row, select_mail};
use crate::domain::{AgentName, Correspondent, Mail, MailId, Refusal, TaskId, ThreadId, Timestamp};
use crate::store::{Item, MailQuery, Page, Result, SearchWords, Statement, View, params, sql};

pub(crate) fn find(view: &View<'_>, id: &MailId) -> Result<Option<Mail>> {
    view.row(ONE, params![id.as_str()], |row| Ok(from_row(row)?.mail))
}

fn number(view: &View<'_>, id: &MailId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM mail WHERE id = $1"),
        params![id.as_str()],
        |row| row.integer(0),
    )
}

/// How mails are put into pages.
const MAIL: Item<Mail> = Item {
    from_row: |row| Ok(from_row(row)?.mail),
    size,
    name: |mail| mail.id.to_string(),
};

/// Counts the bytes of a mail, as good as it matters.
fn size(mail: &Mail) -> usize {
    const RECIPIENT: usize = 150;
    let context = Value::Object(mail.context.clone()).to_string();
    mail.body.as_str().len() + context.len() + mail.recipients.len() * RECIPIENT
}

/// What every list is narrowed by. What is asked of one who gets a mail is asked of the same one.
macro_rules! asked {
    () => {
        " WHERE m.number > $1
            AND EXISTS (SELECT 1 FROM mail_recipients r
                         WHERE r.mail_number = m.number
                           AND ($2 IS NULL OR r.recipient = $2)
                           AND ($3 = 0 OR r.read_at IS NULL)
                           AND ($4 = 0 OR r.read_at IS NULL OR (r.ack_due_at IS NOT NULL AND r.acknowledged_at IS NULL))
                           AND ($5 IS NULL OR (r.ack_due_at < $5 AND r.acknowledged_at IS NULL)))
            AND ($6 IS NULL OR m.sender = $6)
            AND ($7 IS NULL OR m.thread_id = $7)
            AND ($8 IS NULL OR m.task_number = (SELECT number FROM tasks WHERE id = $8))"
    };
}

/// Lists mail, oldest first. Each statement begins with what narrows the list most, so that its index is used.
pub(crate) fn list(view: &View<'_>, asked: &MailQuery) -> Result<Page<Mail>> {
    const ALL: Statement<9> = sql!(
        select_mail!("mail m"),
        asked!(),
        " ORDER BY m.number LIMIT $9"
    );
    const WITH_WORDS: Statement<10> = sql!(
        select_mail!("mail_search s CROSS JOIN mail m ON m.number = s.rowid"),
        asked!(),
        " AND mail_search MATCH $9 AND s.rowid > $1 ORDER BY s.rowid LIMIT $10"
    );
    const OVERDUE: Statement<9> = sql!(
        select_mail!("mail m"),
        asked!(),
        " AND m.number IN (SELECT o.mail_number FROM mail_recipients o
                            WHERE o.ack_due_at IS NOT NULL AND o.acknowledged_at IS NULL AND o.ack_due_at < $5)
          ORDER BY m.number LIMIT $9"
    );
    const THREAD: Statement<9> = sql!(
        select_mail!("mail m INDEXED BY mail_by_thread"),
        asked!(),
        " AND m.thread_id = $7 ORDER BY m.number LIMIT $9"
    );
    const TASK: Statement<9> = sql!(
        select_mail!("mail m INDEXED BY mail_by_task"),
        asked!(),
        " AND m.task_number = (SELECT number FROM tasks WHERE id = $8) ORDER BY m.number LIMIT $9"
    );
    const PENDING: Statement<9> = sql!(
        select_mail!("mail_recipients b CROSS JOIN mail m ON m.number = b.mail_number"),
        asked!(),
        " AND b.recipient = $2 AND b.mail_number > $1
          AND (b.read_at IS NULL OR (b.ack_due_at IS NOT NULL AND b.acknowledged_at IS NULL))
          ORDER BY b.mail_number LIMIT $9"
    );
    const INBOX: Statement<9> = sql!(
        select_mail!("mail_recipients b CROSS JOIN mail m ON m.number = b.mail_number"),
        asked!(),
        " AND b.recipient = $2 AND b.mail_number > $1 ORDER BY b.mail_number LIMIT $9"
    );
    let after = match &asked.after {
        None => 0,
        Some(id) => number(view, id)?.ok_or_else(|| Refusal::MailNotFound(id.to_string()))?,
    };
    let to = asked.to.as_ref().map(Correspondent::to_string);
    let (unread, pending) = (asked.unread, asked.pending);
    let overdue = asked.overdue_at.map(Timestamp::as_millis);
    let from = asked.from.as_ref().map(Correspondent::to_string);
    let thread = asked.thread.as_ref().map(ThreadId::to_string);
    let task = asked.task.as_ref().map(TaskId::to_string);
    let (limit, more) = (asked.limit, asked.limit + 1);
    macro_rules! asked_of {
        ($statement:expr $(, $words:expr)?) => {
            view.page(
                $statement,
                params![after, to, unread, pending, overdue, from, thread, task $(, $words)?, more],
                limit,
                &MAIL,
            )
        };
    }
    if let Some(words) = &asked.words {
        asked_of!(WITH_WORDS, expression(words))
    } else if overdue.is_some() {
        asked_of!(OVERDUE)
    } else if thread.is_some() {
        asked_of!(THREAD)
    } else if task.is_some() {
        asked_of!(TASK)
    } else if to.is_some() && (unread || pending) {
        asked_of!(PENDING)
    } else if to.is_some() {
        asked_of!(INBOX)
    } else {
        asked_of!(ALL)
    }
}

/// Writes what the index of words is asked. In quotes, nothing is an operator.
fn expression(words: &SearchWords) -> String {
    let quoted = |word: &String| format!("\"{}\"", word.replace('"', "\"\""));
    let quoted: Vec<_> = words.as_slice().iter().map(quoted).collect();
    quoted.join(" ")
}

/// Finds the newest mail, oldest first, that an agent has not read or is to acknowledge, and how much older there is.
pub(crate) fn pending(
    view: &View<'_>,
    agent: &AgentName,
    limit: u32,
) -> Result<(Vec<Mail>, usize)> {
    const NEWEST: Statement<2> = sql!(
        select_mail!("mail_recipients b CROSS JOIN mail m ON m.number = b.mail_number"),
        " WHERE b.recipient = $1 AND (b.read_at IS NULL OR (b.ack_due_at IS NOT NULL AND b.acknowledged_at IS NULL))
          ORDER BY b.mail_number DESC LIMIT $2"
    );
    let newest = params![agent, limit];
    let mut mail = view.rows(NEWEST, newest, |row| Ok(from_row(row)?.mail))?;
    mail.reverse();
    if mail.len() < limit as usize {
        return Ok((mail, 0));
    }
    let count: usize = view.one(sql!(
            "SELECT count(*) FROM mail_recipients
              WHERE recipient = $1 AND (read_at IS NULL OR (ack_due_at IS NOT NULL AND acknowledged_at IS NULL))"
        ), params![agent.as_str()], |row| row.get(0))?;
    let older = count.saturating_sub(mail.len());
    Ok((mail, older))
}
