//! What the router asks of the ledger: what comes next, who suits, beginning it, and what becomes of it when its hand-off ends.

use std::collections::HashMap;

use rusqlite::params;
use sqlx::SqlitePool;

use super::handoffs::{self, Begin, Begun};
use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use super::tasks::{self, StoredTask, to_json};
use super::writer::Tx;
use super::{agents, events, increments, readiness, reports, route_mail};
use crate::domain::{
    AgentName, Applicant, EventKind, Mode, Outcome, Past, Provider, Refusal, Report, ReportResult,
    Role, RouteChoice, Skill, Stage, Status, TaskId, Text, agent_context, assignment, best, judge,
    nobody_suits,
};
use crate::store::{Circumstances, Result, Routed};

/// Finds the tasks that are to be given to agents next: the most urgent first, then the oldest.
pub(super) async fn next(readers: &SqlitePool, limit: u32) -> Result<Vec<TaskId>> {
    const NEXT: Statement = sql!(
        "SELECT t.id FROM tasks t INDEXED BY tasks_to_route
          WHERE t.status = 'pending' AND t.unmet = 0 AND t.agent_role IS NOT NULL AND t.is_unsuited = 0
            AND t.is_blocked = 0
            AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
          ORDER BY t.priority, t.number LIMIT $1"
    );
    let rows = query!(NEXT, limit).fetch_all(readers).await?;
    row::all(&rows, |row| row.parsed(0))
}

/// Says whom the router would give a task to, and why.
pub(super) fn explain(
    tx: &Tx<'_>,
    task_id: &TaskId,
    circumstances: &Circumstances,
) -> Result<RouteChoice> {
    let on = tasks::load(tx, task_id)?;
    choose(tx, &on, circumstances)
}

fn choose(tx: &Tx<'_>, on: &StoredTask, circumstances: &Circumstances) -> Result<RouteChoice> {
    let task = &on.task;
    let waits = why_it_waits(tx, on)?;
    let Some(role) = &task.needs.agent_role else {
        return Ok(RouteChoice {
            task_id: task.id.clone(),
            agent: None,
            fallback: false,
            ready: false,
            reason: waits,
            candidates: Vec::new(),
        });
    };
    let tags = &task.needs.specialist_tags;
    let mut candidates = judge(
        role,
        tags,
        applicants(tx, on, None, &circumstances.missing_programs)?,
    );
    let best = candidates.iter().find(|candidate| candidate.taken);
    let chosen = best.map(|best| best.agent.clone());
    let fallback = match (&chosen, &circumstances.fallback) {
        (None, Some(name)) => agents::resolve(tx, name.as_str()).ok(),
        _ => None,
    };
    if let Some(fallback) = &fallback
        && let Some(candidate) = candidates.iter_mut().find(|each| each.agent == *fallback)
    {
        candidate.taken = true;
        candidate.why = Text::lossy("It gets what nobody suits".to_owned());
    }
    let nobody = (chosen.is_none() && fallback.is_none()).then(|| nobody_suits(role, tags));
    Ok(RouteChoice {
        task_id: task.id.clone(),
        fallback: fallback.is_some(),
        agent: chosen.or(fallback),
        ready: waits.is_none(),
        reason: waits.or(nobody),
        candidates,
    })
}

/// Says why the router leaves a task alone, if it does.
fn why_it_waits(tx: &Tx<'_>, on: &StoredTask) -> Result<Option<Text>> {
    let task = &on.task;
    if let Some(current) = task.current_agent() {
        return Ok(Some(Text::lossy(format!("{current} works on it"))));
    }
    if task.routing.blocked
        && let Some(reason) = &task.routing.waiting_reason
    {
        return Ok(Some(Text::lossy(format!("It is blocked: {reason}"))));
    }
    if task.status != Status::Pending {
        let status = task.status.name().as_str();
        return Ok(Some(Text::lossy(format!(
            "It is {status}: only what is pending is given to an agent"
        ))));
    }
    let unmet = tx.rows(
        sql!(
            "SELECT o.id, o.status, d.outcome FROM task_dependencies d
               JOIN tasks o ON o.number = d.depends_on_number
              WHERE d.task_number = $1
                AND NOT ((o.status = 'completed' AND d.outcome <> 'failed') OR (o.status = 'failed' AND d.outcome <> 'completed'))
              ORDER BY d.position"
        ),
        params![on.number],
        |row| {
            let (id, status, outcome) = (row.string(0)?, row.string(1)?, row.string(2)?);
            let wanted = if outcome == "any" { "ended" } else { outcome.as_str() };
            Ok(format!("{id} ({status}, must be {wanted})"))
        },
    )?;
    if !unmet.is_empty() {
        return Ok(Some(Text::lossy(format!(
            "It waits for {}",
            unmet.join(", ")
        ))));
    }
    if task.needs.agent_role.is_none() {
        return Ok(Some(Text::lossy(
            "It has no role: set one with `chorus task update ID --agent-role ROLE`, or hand it to an agent"
                .to_owned(),
        )));
    }
    Ok(None)
}

/// Finds what is known of every agent, or of those that have a role.
fn applicants(
    tx: &Tx<'_>,
    on: &StoredTask,
    role: Option<&Role>,
    missing_programs: &[String],
) -> Result<Vec<Applicant>> {
    let busy: HashMap<String, u32> = tx
        .rows(
            sql!(
                "SELECT agent_name, count(*) FROM handoffs WHERE completed_at IS NULL AND is_invoked = 1 GROUP BY agent_name"
            ),
            [],
            |row| Ok((row.string(0)?, row.unsigned(1)?)),
        )?
        .into_iter()
        .collect();
    let past = past(tx, on)?;
    // A role is a word of small letters: as JSON it stands between quotes, and nowhere else.
    let role = role.map(|role| format!("\"{role}\""));
    tx.rows(
        sql!(
            "SELECT name, available, roles, skills, program, provider FROM agents WHERE $1 IS NULL OR instr(roles, $1) > 0"
        ),
        params![role],
        |row| {
            let name: AgentName = row.parsed(0)?;
            let program = row.optional_string(4)?;
            let provider = row.word(5, Provider::parse)?;
            let program = program.as_deref().or_else(|| provider.binary());
            Ok(Applicant {
                available: row.integer(1)? != 0,
                roles: row.json(2)?,
                skills: row.json(3)?,
                busy: busy.get(name.as_str()).copied().unwrap_or_default(),
                past: past.get(name.as_str()).copied().unwrap_or_default(),
                is_missing: program
                    .is_none_or(|program| missing_programs.iter().any(|each| each == program)),
                name,
            })
        },
    )
}

/// Finds who has worked on a task's increment, or on its tree if it is of none, on what it waited for, and on all below those.
fn past(tx: &Tx<'_>, on: &StoredTask) -> Result<HashMap<String, Past>> {
    let worked = tx.rows(
        sql!(
            "WITH first (number) AS (
                 SELECT CASE WHEN increment_number IS NULL THEN $1 ELSE number END FROM tasks WHERE number = $2 UNION
                 SELECT s.number FROM tasks t JOIN tasks s ON s.increment_number = t.increment_number WHERE t.number = $2 UNION
                 SELECT depends_on_number FROM task_dependencies WHERE task_number = $2
             ),
             related (number, root) AS (
                 SELECT number, number FROM first UNION
                 SELECT c.number, f.number FROM first f JOIN tasks c ON c.master_number = f.number
             )
             SELECT h.agent_name, h.outcome, coalesce(t.stage, o.stage), coalesce(t.agent_role, o.agent_role), t.number = $2, h.mode
               FROM related r
               JOIN tasks t ON t.number = r.number
               JOIN tasks o ON o.number = r.root
               JOIN handoffs h ON h.task_number = t.number"
        ),
        params![on.chain_number, on.number],
        |row| {
            Ok((
                row.string(0)?,
                row.optional_word(1, Outcome::parse)?,
                row.optional_word(2, Stage::parse)?,
                row.optional_parsed::<Role>(3)?,
                row.integer(4)? != 0,
                row.word(5, Mode::parse)?,
            ))
        },
    )?;
    let mut all: HashMap<String, Past> = HashMap::new();
    for (agent_name, outcome, stage, role, is_this, mode) in worked {
        let past = all.entry(agent_name).or_default();
        // What it was made as counts, not what somebody called it later. Who worked on a task that names no role made what there is.
        let makes = match stage {
            Some(stage) => stage.role().makes(),
            None => role.as_ref().is_none_or(Role::makes),
        };
        let has_failed = outcome
            .is_some_and(|outcome| !matches!(outcome, Outcome::Completed | Outcome::Cancelled));
        past.knows_it |= outcome == Some(Outcome::Completed);
        past.made_it |= !is_this && makes;
        past.has_failed |= is_this && mode == Mode::Route && has_failed;
    }
    Ok(all)
}

/// Gives a task to the agent that suits best, if it is ready and somebody does.
pub(super) fn route(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    circumstances: &Circumstances,
) -> Result<Routed> {
    let on = tasks::load(tx, task_id)?;
    let Some(role) = on.task.needs.agent_role.clone() else {
        return Ok(Routed::NotReady(choose(tx, &on, circumstances)?));
    };
    if why_it_waits(tx, &on)?.is_some() {
        return Ok(Routed::NotReady(choose(tx, &on, circumstances)?));
    }
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
        events::record(tx, on.on(), None, nobody)?;
        fallback
    };
    tx.execute(
        sql!(
            "UPDATE tasks SET route_attempts = route_attempts + 1, waiting_reason = NULL, is_unsuited = 0, is_asked_again = 0,
                              is_context_own = 0
              WHERE number = $1"
        ),
        params![on.number],
    )?;
    let prompt = assignment(&on.task);
    let begun = begin(tx, on, agent_name, &prompt, None)?;
    route_mail::announce(tx, &begun)?;
    let mut task = begun.on.task;
    task.routing.attempts += 1;
    task.routing.waiting_reason = None;
    Ok(Routed::Started(Box::new(task)))
}

fn begin(
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
        let place = tasks::place(tx, id)?;
        tx.execute(
            sql!("UPDATE tasks SET is_unsuited = 1, waiting_reason = $1 WHERE number = $2"),
            params![reason.as_str(), place.number],
        )?;
        let nobody = EventKind::NoSuitableAgent {
            reason: reason.clone(),
        };
        events::record(tx, place.on(id), None, nobody)?;
    }
    Ok(())
}

/// Decides what becomes of a task when the hand-off has ended that the router began.
pub(super) fn handoff_ended(
    tx: &mut Tx<'_>,
    mut on: StoredTask,
    handoff_number: i64,
    outcome: Outcome,
    output: &Text,
) -> Result<StoredTask> {
    let Some(entry) = on.task.agent_chain().last() else {
        return Ok(on);
    };
    let told = reports::of_handoff(tx, handoff_number)?;
    // Whoever works on a stage says what came out, also if a person asked them.
    let is_stage = on.task.part.is_some() && told.is_some();
    if entry.mode != Mode::Route && !is_stage {
        return Ok(on);
    }
    // A person has ended it meanwhile.
    if matches!(on.task.status, Status::Completed | Status::Failed { .. }) {
        return Ok(on);
    }
    let agent_name = entry.agent_name.clone();
    if outcome == Outcome::Cancelled {
        block(tx, &mut on, &cancelled(output))?;
    } else if let Some(report) = told {
        finish(tx, &mut on, &agent_name, Some(&report), output)?;
    } else if outcome != Outcome::Completed {
        fail(tx, &mut on, &agent_name, output)?;
    } else if let Some((report, before)) = Report::at_the_end_of(output.as_str()) {
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
    Ok(begin(tx, on, agent_name, &question, session.as_deref())?.on)
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
        None | Some((ReportResult::Passed, _)) => tasks::change_status(tx, on, Status::Completed),
        Some((ReportResult::Failed, message)) => {
            tasks::change_status(tx, on, Status::Failed { message })
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
        return tasks::change_status(tx, on, Status::Pending);
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
    events::record(tx, on.on(), None, blocked)?;
    increments::block(tx, on, reason)
}

/// Forgets why a task was left alone that nobody needs any more.
pub(super) fn let_go(tx: &Tx<'_>, task_number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_blocked = 0, is_unsuited = 0, waiting_reason = NULL WHERE number = $1"
        ),
        params![task_number],
    )?;
    Ok(())
}

/// Forgets why a task was left alone, once somebody has decided about it.
pub(super) fn decided(tx: &Tx<'_>, on: &mut StoredTask) -> Result<()> {
    if on.task.routing.waiting_reason.is_none() {
        return Ok(());
    }
    on.task.routing.blocked = false;
    on.task.routing.waiting_reason = None;
    let_go(tx, on.number)
}

/// Refuses what would take the report from the agent that owes it.
pub(super) fn check_own_report(on: &StoredTask) -> Result<()> {
    match &on.task.part {
        None => Ok(()),
        Some(_) => Err(Refusal::PartOfIncrement(on.task.id.clone()).into()),
    }
}
