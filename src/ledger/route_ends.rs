//! What becomes of a task when the hand-off has ended that the router began.

use super::{increment_stages, readiness, reports, route_mail, routing};
use crate::domain::{
    AgentName, EventKind, Mode, Outcome, Report, ReportResult, Status, Text, agent_context,
};
use crate::ledger::{history, reactions};
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx, params, sql};

/// Decides what becomes of a task when the hand-off has ended that the router began.
pub(crate) fn handoff_ended(
    tx: &mut Tx<'_>,
    mut on: StoredTask,
    handoff_number: i64,
    outcome: Outcome,
    output: &Text,
) -> Result<StoredTask> {
    let Some(entry) = on.task.agent_chain().last() else {
        return Ok(on);
    };
    let is_routed = entry.mode == Mode::Route;
    if !is_routed && on.task.part.is_none() {
        return Ok(on);
    }
    let agent_name = entry.agent_name.clone();
    // A person has ended it meanwhile.
    if matches!(on.task.status, Status::Completed | Status::Failed { .. }) {
        return Ok(on);
    }
    if increment_stages::is_over(tx, &on)? {
        increment_stages::end_over(tx, &mut on)?;
        return Ok(on);
    }
    let told = reports::of_handoff(tx, handoff_number)?;
    let said = Report::at_the_end_of(output.as_str()).filter(|_| outcome == Outcome::Completed);
    // Whoever works on a stage says what came out, also if a person asked them.
    if !is_routed && told.is_none() && said.is_none() {
        increment_stages::refresh(tx, &on)?;
        return Ok(on);
    }
    if outcome == Outcome::Cancelled {
        block(tx, &mut on, &cancelled(output))?;
    } else if let Some(report) = told {
        finish(tx, &mut on, &agent_name, Some(&report), output)?;
    } else if outcome != Outcome::Completed {
        fail(tx, &mut on, &agent_name, output)?;
    } else if let Some((report, before)) = said {
        let report = report.without_what_is_illegal();
        reports::insert(tx, handoff_number, &report)?;
        let before = Text::lossy(before.to_owned());
        finish(tx, &mut on, &agent_name, Some(&report), &before)?;
    } else if !on.task.wants_report() {
        finish(tx, &mut on, &agent_name, None, output)?;
    } else if first_question(tx, on.number)? {
        return ask_again(tx, on, handoff_number, agent_name);
    } else {
        let report = Report {
            result: ReportResult::Failed,
            summary: Text::lossy(format!(
                "{agent_name} gave no report, although it was asked again"
            )),
            details: None,
            agent_context: None,
        };
        finish(tx, &mut on, &agent_name, Some(&report), output)?;
    }
    Ok(on)
}

/// Notes that an agent is asked again for its report. Returns false if it was before.
fn first_question(tx: &Tx<'_>, task_number: i64) -> Result<bool> {
    let changed = tx.execute(
        sql!("UPDATE tasks SET is_asked_again = 1 WHERE number = $1 AND is_asked_again = 0"),
        params![task_number],
    )?;
    Ok(changed == 1)
}

/// Asks an agent for the report that it owes, in the session that it had if there is one.
fn ask_again(
    tx: &mut Tx<'_>,
    on: StoredTask,
    handoff_number: i64,
    agent_name: AgentName,
) -> Result<StoredTask> {
    let session = tx.row(
        sql!(
            "SELECT session_id FROM runs WHERE handoff_number = $1 AND session_id IS NOT NULL ORDER BY attempt DESC LIMIT 1"
        ),
        params![handoff_number],
        |row| row.string(0),
    )?;
    let question = Text::lossy(Report::QUESTION.to_owned());
    Ok(routing::begin(tx, on, agent_name, &question, session.as_deref())?.on)
}

/// Records what came out of a task, and lets others go on.
fn finish(
    tx: &mut Tx<'_>,
    on: &mut StoredTask,
    agent_name: &AgentName,
    report: Option<&Report>,
    output: &Text,
) -> Result<()> {
    let is_context_own = tx.row(
        sql!("SELECT is_context_own FROM tasks WHERE number = $1"),
        params![on.number],
        |row| row.integer(0),
    )?;
    let said = (is_context_own != Some(1)).then_some(output);
    on.task.needs.agent_context = agent_context::after_handoff(
        &on.task.needs.agent_context,
        agent_name,
        on.task.needs.agent_role.as_ref(),
        report,
        said,
    );
    readiness::write_context(tx, on)?;
    match report.map(|report| (report.result, report.in_short())) {
        None | Some((ReportResult::Passed, _)) => {
            reactions::change_status(tx, on, Status::Completed)
        }
        Some((ReportResult::Failed, message)) => {
            reactions::change_status(tx, on, Status::Failed { message })
        }
        Some((ReportResult::Blocked, reason)) => {
            block(tx, on, &reason)?;
            route_mail::tell_operator(tx, on, &reason)
        }
    }
}

/// Gives a task back to the router after a run that failed, or to a person if that happened too often.
fn fail(tx: &mut Tx<'_>, on: &mut StoredTask, agent_name: &AgentName, output: &Text) -> Result<()> {
    if on.task.routing.attempts < tx.rules.route_attempts {
        return reactions::change_status(tx, on, Status::Pending);
    }
    let reason = Text::lossy(format!(
        "It was given to agents {} times. The last one, {agent_name}, failed: {}",
        on.task.routing.attempts,
        output.beginning(REASON)
    ));
    block(tx, on, &reason)?;
    route_mail::tell_operator(tx, on, &reason)
}

/// Says that somebody stopped an agent, and why if they said so.
fn cancelled(reason: &Text) -> Text {
    if reason.as_str() == "Cancelled" {
        return reason.clone();
    }
    Text::lossy(format!("Cancelled: {}", reason.beginning(REASON)))
}

/// How many bytes of an error are told.
const REASON: usize = 1000;

/// Leaves a task to a person.
fn block(tx: &mut Tx<'_>, on: &mut StoredTask, reason: &Text) -> Result<()> {
    on.task.routing.blocked = true;
    on.task.routing.waiting_reason = Some(reason.clone());
    tx.execute(
        sql!("UPDATE tasks SET is_blocked = 1, is_unsuited = 0, waiting_reason = $1 WHERE number = $2"),
        params![reason.as_str(), on.number],
    )?;
    let blocked = EventKind::TaskBlocked {
        reason: reason.clone(),
    };
    history::record(tx, on.on(), None, blocked)?;
    increment_stages::refresh(tx, on)
}
