//! The mail that the router sends, in the transaction that it tells of.

use super::handoffs::Begun;
use super::mail;
use crate::domain::{
    Address, Correspondent, HandoffId, MailContent, MailId, NewMail, Role, Text, blocked_mail,
    handoff_mail,
};
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx, params, sql};

/// Mails the agent what it is given, and from which part of the work it comes.
pub(crate) fn announce(tx: &mut Tx<'_>, begun: &Begun) -> Result<()> {
    let task = &begun.on.task;
    let Some(entry) = task.agent_chain().last() else {
        return Ok(());
    };
    let from = role_before(tx, begun.on.number)?;
    let content = handoff_mail(task, from.as_ref(), tx.rules.carried_bytes);
    let to = Correspondent::from(&entry.agent_name);
    send(tx, to, Some(entry.id.clone()), content)
}

/// Mails the operator that something needs a person.
pub(crate) fn tell_operator(tx: &mut Tx<'_>, on: &StoredTask, reason: &Text) -> Result<()> {
    let content = blocked_mail(&on.task, reason);
    send(tx, Correspondent::operator(), None, content)
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

/// Finds the role of what a task waited for: of that which ended last.
fn role_before(tx: &Tx<'_>, task_number: i64) -> Result<Option<Role>> {
    tx.row(
        sql!(
            "SELECT o.agent_role FROM task_dependencies d
               JOIN tasks o ON o.number = d.depends_on_number
              WHERE d.task_number = $1 AND o.agent_role IS NOT NULL AND (o.status = 'completed' OR o.status = 'failed')
              ORDER BY o.updated_at DESC, o.number DESC LIMIT 1"
        ),
        params![task_number],
        |row| row.parsed(0),
    )
}
