//! The table `reports`: what agents say of their work.

use super::{needs, readiness};
use crate::domain::{EventKind, Refusal, Report, ReportResult, Task};
use crate::ledger::handoff::caller::Caller;
use crate::ledger::{history, task};
use crate::store::{GiveReport, Result, Row, Tx, params, sql};

/// Takes the report of a run about its own task. The last one counts.
pub(crate) fn give(tx: &mut Tx<'_>, give: &GiveReport) -> Result<Task> {
    let caller = Caller::load(tx, &give.caller)?;
    let mut on = task::load(tx, &give.task_id)?;
    let is_its_own = on
        .task
        .open_handoff()
        .is_some_and(|open| open.id == give.caller.handoff_id);
    if !is_its_own {
        return Err(Refusal::NotItsOwnTask(give.task_id.clone()).into());
    }
    insert(tx, caller.number, &give.report)?;
    if let Some(told) = &give.report.agent_context {
        on.task.needs.agent_context.extend(told.clone());
        readiness::write_context(tx, &on)?;
        if told.contains_key("workCompleted") {
            needs::say_own_context(tx, on.number)?;
        }
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

/// Writes the report of a hand-off, in the place of an earlier one.
pub(crate) fn insert(tx: &Tx<'_>, handoff_number: i64, report: &Report) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT OR REPLACE INTO reports (handoff_number, result, reported_at, summary, details) VALUES ($1, $2, $3, $4, $5)"
        ),
        params![
            handoff_number,
            report.result.as_str(),
            tx.now.as_millis(),
            report.summary.as_str(),
            report.details.as_ref().map(ToString::to_string),
        ],
    )?;
    Ok(())
}

/// Reads a report from a column on, if one was joined.
pub(crate) fn from_row(row: &Row<'_>, column: usize) -> Result<Option<Report>> {
    let Some(result) = row.optional_word(column, ReportResult::parse)? else {
        return Ok(None);
    };
    Ok(Some(Report {
        result,
        summary: row.text(column + 1)?,
        details: row.optional_json(column + 2)?,
        agent_context: None,
    }))
}

/// Finds the report of a hand-off.
pub(crate) fn of_handoff(tx: &Tx<'_>, handoff_number: i64) -> Result<Option<Report>> {
    tx.row(
        sql!("SELECT result, summary, details FROM reports WHERE handoff_number = $1"),
        params![handoff_number],
        |row| from_row(row, 0),
    )
    .map(Option::flatten)
}
