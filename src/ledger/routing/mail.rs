//! Mail from the router, sent in the transaction that causes it.

use crate::domain::{
    Address, Correspondent, HandoffId, MailContent, MailId, NewMail, Remedy, Text, handoff_mail,
};
use crate::ledger::mail;
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::{mail as table, mail_recipients, task_dependencies};
use crate::store::{Result, Tx};
use crate::words;

/// Mails an agent the context of its new task.
pub fn announce(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    let task = &on.task;
    let Some(entry) = task.agent_chain().last() else {
        return Ok(());
    };
    let from = task_dependencies::find_last_role(tx, on.number)?;
    let content = handoff_mail(task, from.as_ref(), tx.rules.carried_bytes, |cut| {
        words::context_cut(cut, &task.id)
    });
    let to = Correspondent::from(&entry.agent_name);
    send(tx, to, Some(entry.id.clone()), content)
}

/// Mails the operator that a task waits for a decision.
pub fn mail_operator(tx: &mut Tx<'_>, on: &StoredTask, reason: &Text) -> Result<()> {
    let content = words::blocked_mail(&on.task, reason);
    send(tx, Correspondent::operator(), None, content)
}

/// Mails the operator that no agent suits a task: once for each reason, until an agent works on the task.
pub fn mail_unsuited(
    tx: &mut Tx<'_>,
    on: &StoredTask,
    reason: &Text,
    remedy: Option<&Remedy>,
) -> Result<()> {
    if table::was_unsuited_mailed(tx, on.number, reason)? {
        return Ok(());
    }
    let content = words::unsuited_mail(&on.task, reason, remedy);
    send(tx, Correspondent::operator(), None, content)
}

/// Marks the mail that no agent suits a task as read: an agent works on the task, or somebody has decided about it.
pub fn settle_unsuited(tx: &mut Tx<'_>, on: &StoredTask) -> Result<()> {
    for copy in mail_recipients::unread_about_unsuited(tx, on.number)? {
        mail::mark_copy_read(tx, copy)?;
    }
    Ok(())
}

fn send(
    tx: &mut Tx<'_>,
    to: Correspondent,
    handoff_id: Option<HandoffId>,
    content: MailContent,
) -> Result<()> {
    let new = NewMail {
        id: MailId::new(),
        from: Correspondent::router(),
        from_verified: true,
        to: vec![Address::One(to)],
        cc: Vec::new(),
        handoff_id,
        content,
    };
    mail::post(tx, &new)?;
    Ok(())
}
