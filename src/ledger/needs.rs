//! Setting what a task needs.

use super::{dependencies, increment_stages, readiness};
use crate::domain::{EventKind, Minutes, Refusal, Role, Task};
use crate::ledger::{history, task};
use crate::store::tables::tasks::to_json;
use crate::store::{ChangeNeeds, Result, Tx, params, sql};

/// Sets what a task needs. The router looks at it anew.
pub(crate) fn change(tx: &mut Tx<'_>, asked: &ChangeNeeds) -> Result<Task> {
    let mut on = task::load(tx, &asked.task_id)?;
    increment_stages::check_round(tx, &on)?;
    let needs = asked.change.clone().apply(&on.task.needs, asked.merge);
    let changed = needs.changed_since(&on.task.needs);
    // What is given was checked; merged into what is there it may be too much.
    needs
        .check_sizes(tx.rules.largest_object)
        .map_err(Refusal::Invalid)?;
    let is_told = |part: &&str| matches!(*part, "agentContext" | "handoffInstructions");
    if asked.caller.is_some() && on.task.part.is_some() && !changed.iter().all(is_told) {
        return Err(Refusal::PartOfIncrement(on.task.id).into());
    }
    if changed.contains(&"dependsOn") {
        dependencies::check_known(tx, &needs.depends_on)?;
        dependencies::check_no_cycle(tx, on.number, &on.task.id, &needs.depends_on)?;
    }
    let told = asked.change.agent_context.as_ref();
    let is_own = told.is_some_and(|told| told.contains_key("workCompleted"))
        && asked.caller.as_ref().is_some_and(|caller| {
            on.task
                .open_handoff()
                .is_some_and(|open| open.id == caller.handoff_id)
        });
    if is_own {
        say_own_context(tx, on.number)?;
    }
    if changed.is_empty() {
        return Ok(on.task);
    }
    if changed.contains(&"dependsOn") {
        dependencies::replace(tx, on.number, &needs.depends_on)?;
    }
    let before = std::mem::replace(&mut on.task.needs, needs);
    readiness::take_over(tx, &mut on, &before.depends_on)?;
    on.task.updated_at = tx.now;
    if !on.task.routing.blocked {
        on.task.routing.waiting_reason = None;
    }
    let needs = &on.task.needs;
    tx.execute(
        sql!(
            "UPDATE tasks SET agent_role = $1, specialist_tags = $2, estimated_minutes = $3, priority = $4, agent_context = $5,
                              handoff_instructions = $6, is_unsuited = 0,
                              waiting_reason = CASE is_blocked WHEN 1 THEN waiting_reason END, updated_at = $7
              WHERE number = $8"
        ),
        params![
            needs.agent_role.as_ref().map(Role::as_str),
            to_json(&needs.specialist_tags),
            needs.estimated_duration.map(Minutes::get),
            needs.priority.get(),
            to_json(&needs.agent_context),
            to_json(&needs.handoff_instructions),
            tx.now.as_millis(),
            on.number,
        ],
    )?;
    history::record(tx, on.on(), None, EventKind::TaskUpdated { changed })?;
    readiness::announce(tx, on.on())?;
    Ok(on.task)
}

/// Records that the agent that works on a task has itself said what it did.
pub(crate) fn say_own_context(tx: &Tx<'_>, task_number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET is_context_own = 1 WHERE number = $1"),
        params![task_number],
    )?;
    Ok(())
}
