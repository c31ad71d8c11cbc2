//! Whom the router gives a task to, and why.

use std::collections::HashMap;

use super::agent;
use crate::domain::{
    AgentName, Applicant, Mode, Outcome, Past, Provider, Role, RouteChoice, Stage, Status, TaskId,
    Text, judge, nobody_suits,
};
use crate::ledger::task;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Circumstances, Result, Tx, params, sql};

/// Says whom the router would give a task to, and why.
pub(crate) fn explain(
    tx: &Tx<'_>,
    task_id: &TaskId,
    circumstances: &Circumstances,
) -> Result<RouteChoice> {
    let on = task::load(tx, task_id)?;
    choose(tx, &on, circumstances)
}

/// Chooses whom a task is given to, and says why each agent is taken or not.
pub(crate) fn choose(
    tx: &Tx<'_>,
    on: &StoredTask,
    circumstances: &Circumstances,
) -> Result<RouteChoice> {
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
        (None, Some(name)) => agent::resolve(tx, name.as_str()).ok(),
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
pub(crate) fn why_it_waits(tx: &Tx<'_>, on: &StoredTask) -> Result<Option<Text>> {
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
pub(crate) fn applicants(
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
            params![],
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
        params![on.root_number, on.number],
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
