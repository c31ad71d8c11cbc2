//! What the router asks of the ledger: what comes next, beginning it, and setting aside what nobody suits.

use super::handoffs::{self, Begin, Begun};
use super::route_choice::{applicants, choose, why_it_waits};
use super::route_mail;
use crate::domain::{
    AgentName, EventKind, Mode, Refusal, Role, Skill, TaskId, Text, assignment, best, nobody_suits,
};
use crate::ledger::{history, task};
use crate::store::tables::tasks::{StoredTask, to_json};
use crate::store::{Circumstances, Result, Routed, Statement, Tx, View, params, sql};

/// Finds the tasks that are to be given to agents next: the most urgent first, then the oldest.
pub(crate) fn next(view: &View<'_>, limit: u32) -> Result<Vec<TaskId>> {
    const NEXT: Statement<1> = sql!(
        "SELECT t.id FROM tasks t INDEXED BY tasks_to_route
          WHERE t.status = 'pending' AND t.unmet = 0 AND t.agent_role IS NOT NULL AND t.is_unsuited = 0
            AND t.is_blocked = 0
            AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
          ORDER BY t.priority, t.number LIMIT $1"
    );
    view.rows(NEXT, params![limit], |row| row.parsed(0))
}

/// Gives a task to the agent that suits best, if it is ready and somebody does.
pub(crate) fn route(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    circumstances: &Circumstances,
) -> Result<Routed> {
    let on = task::load(tx, task_id)?;
    let (None, Some(role)) = (why_it_waits(tx, &on)?, on.task.needs.agent_role.clone()) else {
        return Ok(Routed::NotReady(choose(tx, &on, circumstances)?));
    };
    let tags = &on.task.needs.specialist_tags;
    let known = applicants(tx, &on, Some(&role), &circumstances.missing_programs)?;
    let agent_name = if let Some(best) = best(&role, tags, known) {
        best
    } else {
        let choice = choose(tx, &on, circumstances)?;
        let Some(fallback) = choice.agent.clone() else {
            hold(tx, &on, &role, tags)?;
            return Ok(Routed::NobodySuits(choice));
        };
        let nobody = EventKind::NoSuitableAgent {
            reason: nobody_suits(&role, tags),
        };
        history::record(tx, on.on(), None, nobody)?;
        fallback
    };
    tx.execute(
        sql!(
            "UPDATE tasks SET route_attempts = route_attempts + 1, is_asked_again = 0, is_context_own = 0 WHERE number = $1"
        ),
        params![on.number],
    )?;
    let prompt = assignment(&on.task);
    let begun = begin(tx, on, agent_name, &prompt, None)?;
    route_mail::announce(tx, &begun)?;
    let mut task = begun.on.task;
    task.routing.attempts += 1;
    Ok(Routed::Started(Box::new(task)))
}

/// Begins a hand-off that the router has decided on.
pub(crate) fn begin(
    tx: &mut Tx<'_>,
    on: StoredTask,
    agent_name: AgentName,
    prompt: &Text,
    resumes: Option<&str>,
) -> Result<Begun> {
    let asked = Begin {
        mode: Mode::Route,
        agent_name,
        from_agent: None,
        from_number: None,
        waiter_number: None,
        trace: None,
        prompt: prompt.as_str(),
        reason: None,
        resumes,
        is_invoked: true,
    };
    handoffs::begin(tx, on, asked)
}

/// How many tasks are set aside at once.
const MOST_HELD: u32 = 500;

/// Lets a task wait until an agent changes, because nobody suits; and with it others that need the same. What was said before is
/// not said again.
fn hold(tx: &mut Tx<'_>, on: &StoredTask, role: &Role, tags: &[Skill]) -> Result<()> {
    let reason = nobody_suits(role, tags);
    let (role, tags) = (role.as_str(), to_json(&tags));
    tx.execute(
        sql!(
            "UPDATE tasks INDEXED BY tasks_to_route SET is_unsuited = 1
              WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1 AND specialist_tags = $2
                AND is_unsuited = 0 AND is_blocked = 0 AND waiting_reason = $3"
        ),
        params![role, tags, reason.as_str()],
    )?;
    if on.task.routing.waiting_reason.as_ref() == Some(&reason) {
        return Ok(());
    }
    let others = tx.rows(
        sql!(
            "SELECT id FROM tasks INDEXED BY tasks_to_route
              WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1 AND specialist_tags = $2
                AND is_unsuited = 0 AND is_blocked = 0 AND number <> $3
              ORDER BY priority, number LIMIT $4"
        ),
        params![role, tags, on.number, MOST_HELD],
        |row| row.parsed(0),
    )?;
    for id in std::iter::once(&on.task.id).chain(&others) {
        let place = task::keys(tx, id)?;
        tx.execute(
            sql!("UPDATE tasks SET is_unsuited = 1, waiting_reason = $1 WHERE number = $2"),
            params![reason.as_str(), place.number],
        )?;
        let nobody = EventKind::NoSuitableAgent {
            reason: reason.clone(),
        };
        history::record(tx, place.on(id), None, nobody)?;
    }
    Ok(())
}

/// Forgets why a task was left alone, once somebody has decided about it.
pub(crate) fn decided(tx: &Tx<'_>, on: &mut StoredTask) -> Result<()> {
    if on.task.routing.waiting_reason.is_none() {
        return Ok(());
    }
    on.task.routing.blocked = false;
    on.task.routing.waiting_reason = None;
    tx.execute(
        sql!(
            "UPDATE tasks SET is_blocked = 0, is_unsuited = 0, waiting_reason = NULL WHERE number = $1"
        ),
        params![on.number],
    )?;
    Ok(())
}

/// Refuses what would take the report from the agent that owes it.
pub(crate) fn check_own_report(on: &StoredTask) -> Result<()> {
    match &on.task.part {
        None => Ok(()),
        Some(_) => Err(Refusal::PartOfIncrement(on.task.id.clone()).into()),
    }
}
