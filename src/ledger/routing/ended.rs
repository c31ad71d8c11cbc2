//! Following the end of a routed hand-off, or of a hand-off on a stage.

use crate::domain::{
    AgentName, Door, EndedHandoff, NextStep, ProviderSession, Report, ReportResult, Status, Text,
    agent_context,
};
use crate::ledger::handoff::{Closed, Ending};
use crate::ledger::{increment, task};
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::{reports, runs, task_routing};
use crate::store::{Result, Tx};
use crate::words;

use super::mail;
use super::route::begin_routed;
use super::waiting::block;

/// The most bytes of an error that a reason repeats.
const REASON: usize = 1000;

/// The most bytes of a message without a report that a reason repeats.
const LAST_MESSAGE: usize = 300;

/// Carries out the next step for the task. Returns the task, and its new status.
pub fn follow_end(
    tx: &mut Tx<'_>,
    closed: Closed,
    ending: &Ending<'_>,
) -> Result<(StoredTask, Option<Status>)> {
    let Closed {
        mut on,
        handoff_number,
        ..
    } = closed;
    let Some(entry) = on.task.agent_chain().last() else {
        return Ok((on, None));
    };
    let (agent_name, is_routed) = (entry.agent_name.clone(), entry.mode == Door::Route);
    if !is_routed && on.task.part.is_none() {
        return Ok((on, None));
    }
    let report = reports::of_handoff(tx, handoff_number)?;
    let spoken = Report::find_at_end(ending.output.as_str());
    let ended = EndedHandoff {
        is_routed,
        is_stage: on.task.part.is_some(),
        is_task_ended: on.task.status.is_ended(),
        is_round_over: increment::is_round_over(tx, &on)?,
        outcome: ending.outcome,
        has_report: report.is_some(),
        message_has_report: spoken.is_some(),
        wants_report: on.task.wants_report(),
        was_asked_again: task_routing::is_asked_again(tx, on.number)?,
        has_attempts_left: on.task.routing.attempts < tx.rules.route_attempts,
    };
    let status = match (ended.next_step(), spoken) {
        (NextStep::LeaveAlone, _) => None,
        (NextStep::CloseStage, _) => Some(increment::closed_stage_status()),
        (NextStep::RefreshIncrement, _) => {
            increment::refresh(tx, &on)?;
            None
        }
        (NextStep::BlockAsCancelled, _) => {
            block(tx, &mut on, &cancelled(ending))?;
            None
        }
        (NextStep::FollowReport, _) => {
            finish(tx, &mut on, &agent_name, report.as_ref(), ending.output)?
        }
        (NextStep::FollowMessageReport, Some((report, before))) => {
            let report = report.without_illegal_parts();
            reports::insert(tx, handoff_number, &report, tx.now)?;
            let before = Text::lossy(before.to_owned());
            finish(tx, &mut on, &agent_name, Some(&report), &before)?
        }
        (NextStep::RouteAgain, _) => Some(Status::Pending),
        (NextStep::BlockAsFailed, _) => {
            let reason = failed_too_often(&on, &agent_name, ending.output);
            block_and_mail(tx, &mut on, &reason)?
        }
        (NextStep::Complete | NextStep::FollowMessageReport, _) => {
            finish(tx, &mut on, &agent_name, None, ending.output)?
        }
        (NextStep::AskForReport, _) => {
            return Ok((ask_for_report(tx, on, handoff_number, agent_name)?, None));
        }
        (NextStep::BlockWithoutReport, _) => {
            let reason = no_report(&agent_name, ending.output);
            block_and_mail(tx, &mut on, &reason)?
        }
    };
    Ok((on, status))
}

/// Asks an agent for the report that it owes, in its earlier session if there is one.
fn ask_for_report(
    tx: &mut Tx<'_>,
    on: StoredTask,
    handoff_number: i64,
    agent_name: AgentName,
) -> Result<StoredTask> {
    task_routing::mark_asked_again(tx, on.number)?;
    let session = runs::find_session_of_handoff(tx, handoff_number)?;
    // The question makes sense in a new session too.
    let session = session.and_then(|id| ProviderSession::parse(id).ok());
    let question = Text::lossy(Report::QUESTION.to_owned());
    Ok(begin_routed(tx, on, agent_name, &question, session.as_ref())?.on)
}

/// Saves the context that an agent leaves on a task. Returns the status that its report asks for.
fn finish(
    tx: &mut Tx<'_>,
    on: &mut StoredTask,
    agent_name: &AgentName,
    report: Option<&Report>,
    output: &Text,
) -> Result<Option<Status>> {
    let is_context_own = task_routing::is_context_own(tx, on.number)?;
    let before = std::mem::take(&mut on.task.needs.agent_context);
    on.task.needs.agent_context = agent_context::after_handoff(
        &before,
        agent_name,
        on.task.needs.agent_role.as_ref(),
        report,
        (!is_context_own).then_some(output),
    );
    task_routing::update_agent_context(tx, on.number, &on.task.needs.agent_context)?;
    task::follow_context(tx, on, &before)?;
    match report.map(|report| (report.result, report.summary_or_result())) {
        None | Some((ReportResult::Passed, _)) => Ok(Some(Status::Completed)),
        Some((ReportResult::Failed, message)) => Ok(Some(Status::Failed { message })),
        Some((ReportResult::Blocked, reason)) => block_and_mail(tx, on, &reason),
    }
}

/// Blocks a task and mails the operator. The task keeps its status.
fn block_and_mail(tx: &mut Tx<'_>, on: &mut StoredTask, reason: &Text) -> Result<Option<Status>> {
    block(tx, on, reason)?;
    mail::mail_operator(tx, on, reason)?;
    Ok(None)
}

fn no_report(agent_name: &AgentName, output: &Text) -> Text {
    let message = output.beginning(LAST_MESSAGE);
    let message = match message.as_str().trim() {
        "" => "Its last message is empty".to_owned(),
        message => format!("Its last message: {message}"),
    };
    Text::lossy(format!(
        "Agent {agent_name} ended without a report, and again when it was asked for one. {message}"
    ))
}

fn failed_too_often(on: &StoredTask, agent_name: &AgentName, output: &Text) -> Text {
    Text::lossy(format!(
        "The task was routed {}. The last agent, {agent_name}, failed: {}",
        words::counted(on.task.routing.attempts, "time"),
        output.beginning(REASON)
    ))
}

fn cancelled(ending: &Ending<'_>) -> Text {
    if ending.has_reason {
        Text::lossy(format!("Cancelled: {}", ending.output.beginning(REASON)))
    } else {
        ending.output.clone()
    }
}
