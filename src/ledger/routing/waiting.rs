//! Tasks that the router holds until an agent suits or the operator decides.

use crate::domain::{Applicant, EventKind, Remedy, Role, Skill, Text};
use crate::ledger::{history, increment, task};
use crate::store::tables::task_routing;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx};
use crate::words;

use super::mail;

/// The most tasks that are held in one transaction.
const MOST_HELD: u32 = 500;

/// Blocks a task until the operator decides.
pub fn block(tx: &mut Tx<'_>, on: &mut StoredTask, reason: &Text) -> Result<()> {
    on.task.routing.blocked = true;
    on.task.routing.waiting_reason = Some(reason.clone());
    task_routing::block(tx, on.number, reason)?;
    let reason = reason.clone();
    history::record(tx, on.on(), None, EventKind::TaskBlocked { reason })?;
    increment::refresh(tx, on)
}

/// Holds a task, and others with the same needs, until an agent changes, because no agent suits. Tasks that were held for the
/// same reason before are not announced again. The operator gets mail about each task.
pub fn hold(
    tx: &mut Tx<'_>,
    on: &StoredTask,
    role: &Role,
    tags: &[Skill],
    applicants: &[Applicant],
) -> Result<()> {
    let was_announced = task_routing::waits_for_agent(tx, on.number)?;
    task_routing::hold_again(tx, role, tags)?;
    let reason = words::nobody_suits(role, tags);
    let remedy = Remedy::smallest(role, tags, applicants);
    if was_announced {
        // A ledger from before this mail, or one whose needs have changed and changed back.
        return mail::mail_unsuited(tx, on, &reason, remedy.as_ref());
    }
    let others = task_routing::with_same_needs(tx, on.number, role, tags, MOST_HELD)?;
    for id in std::iter::once(&on.task.id).chain(&others) {
        let keys = task::keys(tx, id)?;
        task_routing::hold(tx, keys.number, &reason)?;
        let reason = reason.clone();
        history::record(tx, keys.on(id), None, EventKind::NoSuitableAgent { reason })?;
        let on = task::load(tx, id)?;
        mail::mail_unsuited(tx, &on, &words::nobody_suits(role, tags), remedy.as_ref())?;
    }
    Ok(())
}
