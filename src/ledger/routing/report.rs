//! Reports of agents.

use crate::domain::{EventKind, Report, RunIdentity, Task, TaskId};
use crate::ledger::handoff::CallingRun;
use crate::ledger::{history, rights, task};
use crate::store::tables::{reports, task_routing};
use crate::store::{Result, Tx};

#[derive(Debug, Clone, PartialEq)]
pub struct GiveReport {
    pub task_id: TaskId,
    pub report: Report,
    pub caller: RunIdentity,
}

/// Saves the report of a run about its own task. The last report counts.
pub fn give_report(tx: &mut Tx<'_>, give: &GiveReport) -> Result<Task> {
    let caller = CallingRun::load(tx, &give.caller)?;
    let mut on = task::load(tx, &give.task_id)?;
    rights::may_report_on(&give.caller, &on.task)?;
    reports::insert(tx, caller.number, &give.report, tx.now)?;
    if let Some(context) = &give.report.agent_context {
        let before = on.task.needs.agent_context.clone();
        on.task.needs.agent_context.extend(context.clone());
        task_routing::update_agent_context(tx, on.number, &on.task.needs.agent_context)?;
        if context.contains_key("workCompleted") {
            task_routing::mark_context_own(tx, on.number)?;
        }
        task::follow_context(tx, &on, &before)?;
    }
    let reported = EventKind::Reported {
        agent_name: give.caller.agent_name.clone(),
        result: give.report.result,
        summary: give.report.summary.clone(),
    };
    let handoff = Some((&give.caller.handoff_id, caller.number));
    history::record(tx, on.on(), handoff, reported)?;
    Ok(on.task)
}
