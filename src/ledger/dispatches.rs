//! What the dispatcher asks of the ledger: what comes next, beginning it, and what becomes of it when its hand-off ends.

use std::collections::HashSet;

use super::requests::{self, StoredRequest, select_requests};
use super::{agent, request_moves, routes};
use crate::domain::{
    Actor, Agent, Context, EventKind, Mode, Needs, NewTask, Outcome, OutputForm, Provider, Request,
    RequestId, RequestMove, RequestState, Route, RouteMode, Source, Status, Task, Text,
};
use crate::ledger::handoff::{self, Begin, Closed};
use crate::ledger::task;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Dispatch, Due, Job, Result, Row, Slots, Statement, Tx, View, params, sql};

/// The variable that tells the commands of a job which request it is for.
const JOB_REQUEST: &str = "CHORUS_REQUEST_ID";

/// Chooses up to so many requests, in the order in which they are to be started: P0 before P1 before P2, then the rank of
/// the kind's route, then the oldest. Of each priority and kind only the oldest are looked at.
const CHOOSE: Statement<1> = sql!(
    select_requests!(),
    " JOIN (SELECT q.number AS number, p.priority AS priority, d.rank AS rank
              FROM (SELECT 0 AS priority UNION ALL SELECT 1 UNION ALL SELECT 2) p
             CROSS JOIN dispatch_routes d
             CROSS JOIN requests q ON q.number IN (SELECT o.number FROM requests o
                                                    WHERE o.state = 'delegated' AND o.withdrawn_at IS NULL
                                                      AND o.priority = p.priority AND o.kind = d.kind
                                                    ORDER BY o.number LIMIT $1)
             WHERE d.mode <> 'interactive'
               AND EXISTS (SELECT 1 FROM agents a WHERE a.name = d.agent_name AND a.available = 1)
             ORDER BY p.priority, d.rank, q.number LIMIT $1) c ON c.number = r.number
      ORDER BY c.priority, c.rank, c.number"
);

/// Finds what is to be started next, at most so many requests.
pub(crate) fn choose(view: &View<'_>, limit: u32) -> Result<Vec<Request>> {
    view.rows(CHOOSE, params![limit], |row| {
        Ok(requests::from_row(row)?.request)
    })
}

/// Counts the free slots, and the runs that came through a door and stand in line for one.
pub(crate) fn slots(view: &View<'_>, max_runs: u32, mode: Mode) -> Result<Slots> {
    view.one(
        sql!(
            "SELECT (SELECT count(*) FROM runs r
                   JOIN handoffs h ON h.number = r.handoff_number
                  WHERE r.state <> 'ended'
                    AND NOT EXISTS (SELECT 1 FROM handoffs o
                                     WHERE o.waiter_number = h.number AND o.completed_at IS NULL)),
                (SELECT count(*) FROM runs r
                   JOIN handoffs h ON h.number = r.handoff_number
                  WHERE r.state = 'queued' AND h.mode = $1)"
        ),
        params![mode.as_str()],
        |row| {
            Ok(Slots {
                free: max_runs.saturating_sub(row.unsigned(0)?),
                queued: row.unsigned(1)?,
            })
        },
    )
}

/// Finds when something is due: the first and the last approval of those that wait and can be started, and the end of the first
/// lease that nobody keeps.
pub(crate) fn due(view: &View<'_>) -> Result<Due> {
    view.one(sql!(
        "SELECT (SELECT o.approved_at FROM requests o INDEXED BY requests_approved
                  WHERE o.state = 'delegated' AND o.withdrawn_at IS NULL AND o.approved_at IS NOT NULL
                    AND EXISTS (SELECT 1 FROM dispatch_routes d JOIN agents a ON a.name = d.agent_name
                                 WHERE d.kind = o.kind AND d.mode <> 'interactive' AND a.available = 1)
                  ORDER BY o.approved_at LIMIT 1),
                (SELECT o.approved_at FROM requests o INDEXED BY requests_approved
                  WHERE o.state = 'delegated' AND o.withdrawn_at IS NULL AND o.approved_at IS NOT NULL
                    AND EXISTS (SELECT 1 FROM dispatch_routes d JOIN agents a ON a.name = d.agent_name
                                 WHERE d.kind = o.kind AND d.mode <> 'interactive' AND a.available = 1)
                  ORDER BY o.approved_at DESC LIMIT 1),
                (SELECT min(lease_expires_at) FROM requests
                  WHERE lease_expires_at IS NOT NULL AND handoff_number IS NULL),
                (SELECT min(lease_expires_at) FROM requests WHERE handoff_number IS NOT NULL)"
    ), params![], |row| Ok(Due {
        first_approval: row.optional_timestamp(0)?,
        last_approval: row.optional_timestamp(1)?,
        lease: row.optional_timestamp(2)?,
        kept_lease: row.optional_timestamp(3)?,
    }))
}

/// Claims requests, makes or takes up their task, and hands it to the agent of their route, in one transaction. Nothing if one of
/// them was claimed by somebody else.
pub(crate) fn dispatch(tx: &mut Tx<'_>, dispatch: &Dispatch) -> Result<Option<Task>> {
    let Some(Plan { mut stored, route }) = plan(tx, dispatch)? else {
        return Ok(None);
    };
    let agent_name = agent::resolve(tx, route.agent.as_str())?;
    let on = match task_to_go_on(tx, &stored)? {
        Some(on) => on,
        None => new_task(tx, dispatch, &stored)?,
    };
    for request in &mut stored {
        request_moves::take(tx, request, agent_name.clone(), dispatch.lease_millis);
        request.is_job = route.mode == RouteMode::Async;
        request.set_task(&on.task.id, on.number);
    }
    let next = Begin::new(Mode::Request, agent_name, dispatch.prompt.as_str());
    let begun = handoff::begin(tx, on, next)?;
    let entry = begun.on.task.agent_chain().last();
    let handoff_id = entry.map(|entry| entry.id.clone());
    for request in &mut stored {
        request.request.handoff_id.clone_from(&handoff_id);
        request.handoff_number = Some(begun.handoff_number);
        request.move_to(tx, RequestState::Claimed, &Actor::Dispatcher, None)?;
    }
    Ok(Some(begun.on.task))
}

/// What may be begun.
struct Plan {
    stored: Vec<StoredRequest>,
    route: Route,
}

/// Checks everything before anything is written.
fn plan(tx: &Tx<'_>, dispatch: &Dispatch) -> Result<Option<Plan>> {
    let mut stored = Vec::new();
    let mut seen = HashSet::new();
    for id in dispatch.ids.iter().filter(|id| seen.insert(*id)) {
        let request = requests::load(tx, id)?;
        // Only what waits for the dispatcher is the dispatcher's.
        if request.request.state != RequestState::Delegated
            || request.after(RequestMove::Claim).is_err()
        {
            return Ok(None);
        }
        stored.push(request);
    }
    let Some(first) = stored.first() else {
        return Ok(None);
    };
    let route = routes::load(tx, &first.request.kind)?;
    Ok(route
        .filter(|route| route.mode != RouteMode::Interactive)
        .map(|route| Plan { stored, route }))
}

/// Finds the task of an earlier attempt, if it was made for just these requests and can go on.
fn task_to_go_on(tx: &Tx<'_>, stored: &[StoredRequest]) -> Result<Option<StoredTask>> {
    let Some(StoredRequest {
        task_number: Some(number),
        request: Request {
            task_id: Some(id), ..
        },
        ..
    }) = stored.first()
    else {
        return Ok(None);
    };
    let shared = tx.row(
        sql!("SELECT count(*) FROM requests WHERE task_number = $1"),
        params![number],
        |row| row.integer(0),
    )?;
    let is_shared = shared != i64::try_from(stored.len()).ok();
    if is_shared
        || stored
            .iter()
            .any(|other| other.task_number != Some(*number))
    {
        return Ok(None);
    }
    let on = task::load(tx, id)?;
    let is_free = on.task.current_agent().is_none()
        && !matches!(on.task.status, Status::Completed | Status::Failed { .. });
    Ok(is_free.then_some(on))
}

fn new_task(tx: &mut Tx<'_>, dispatch: &Dispatch, stored: &[StoredRequest]) -> Result<StoredTask> {
    let (id, agent_workspace) = dispatch.new_task.clone();
    let first = stored.first().map(|first| &first.request);
    let new = NewTask {
        id,
        description: dispatch.description.clone(),
        parent_id: None,
        session_id: None,
        context: Context::default(),
        needs: Needs::default(),
        part: None,
        source: Source {
            source_type: Text::lossy("request".to_owned()),
            user_id: Text::lossy(Actor::Dispatcher.name().to_owned()),
            conversation_id: first.map(|first| Text::lossy(first.id.to_string())),
        },
        agent_workspace,
    };
    task::create(tx, &new)
}

/// Gives requests the response of the hand-off that worked on them, or puts them back into a line. A task whose requests are all
/// done is completed.
pub(crate) fn handoff_ended(
    tx: &mut Tx<'_>,
    closed: &Closed,
    outcome: Outcome,
    output: &Text,
) -> Result<bool> {
    let on = &closed.on;
    let worked_on = requests::of_handoff(tx, closed.handoff_number)?;
    let entry = on.task.agent_chain().last();
    let is_of_request = entry.is_some_and(|entry| entry.mode == Mode::Request);
    if worked_on.is_empty() && !is_of_request {
        return Ok(false);
    }
    for mut stored in worked_on {
        if outcome == Outcome::Completed {
            let to = stored.after(RequestMove::Finish)?;
            let by = stored.request.lease.as_ref();
            let by = by.map_or(Actor::Dispatcher, |lease| Actor::Agent(lease.agent.clone()));
            stored.request.response = Some(output.clone());
            stored.move_to(tx, to, &by, None)?;
        } else {
            request_moves::recover(tx, stored, output, Some(outcome))?;
        }
    }
    Ok(outcome == Outcome::Completed && !has_open_request(tx, on.number)?)
}

fn has_open_request(tx: &Tx<'_>, task_number: i64) -> Result<bool> {
    let found = tx.row(
        sql!("SELECT 1 FROM requests WHERE task_number = $1 AND state <> 'done' LIMIT 1"),
        params![task_number],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Lets requests follow where control of their hand-off went. An agent has it then, and no job.
pub(crate) fn follow(tx: &Tx<'_>, from_number: i64, to_number: i64) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE requests SET handoff_number = $1, is_job = 0, job_id = NULL WHERE handoff_number = $2"
        ),
        params![to_number, from_number],
    )?;
    Ok(())
}

/// Tells whether a hand-off only starts a job elsewhere, and has not done so yet.
pub(crate) fn starts_job(view: &View<'_>, handoff_number: i64) -> Result<bool> {
    let found = view.row(
        sql!("SELECT 1 FROM requests WHERE handoff_number = $1 AND is_job = 1 AND job_id IS NULL"),
        params![handoff_number],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Returns the agent of a hand-off as it is started: by the command of its route, if that only starts a job elsewhere.
pub(crate) fn as_job_starter(view: &View<'_>, handoff_number: i64, agent: Agent) -> Result<Agent> {
    let job = view.row(
        sql!(
            "SELECT r.id, d.start_command FROM requests r LEFT JOIN dispatch_routes d ON d.kind = r.kind
              WHERE r.handoff_number = $1 AND r.is_job = 1"
        ),
        params![handoff_number],
        |row| Ok((row.string(0)?, row.optional_json::<Vec<Text>>(1)?)),
    )?;
    let Some((request_id, command)) = job else {
        return Ok(agent);
    };
    let mut words = command.unwrap_or_default().into_iter();
    let mut environment = agent.environment;
    environment.insert(Text::lossy(JOB_REQUEST.to_owned()), Text::lossy(request_id));
    Ok(Agent {
        provider: Provider::Command,
        spec_path: Text::default(),
        program: words.next(),
        arguments: words.collect(),
        environment,
        output_form: OutputForm::LastLine,
        ..agent
    })
}

/// Records what a job elsewhere is called.
pub(crate) fn job_started(tx: &mut Tx<'_>, handoff_number: i64, job_id: &Text) -> Result<()> {
    for mut stored in requests::of_handoff(tx, handoff_number)? {
        stored.request.job_id = Some(job_id.clone());
        stored.save(tx)?;
        let started = EventKind::JobStarted {
            job_id: job_id.clone(),
        };
        stored.record(tx, started)?;
    }
    Ok(())
}

macro_rules! select_jobs {
    () => {
        "SELECT r.id, r.job_id, t.id, t.agent_workspace, r.kind, d.poll_command, d.poll_seconds
           FROM requests r
           JOIN handoffs h ON h.number = r.handoff_number AND h.completed_at IS NULL
           JOIN tasks t ON t.number = h.task_number
           LEFT JOIN dispatch_routes d ON d.kind = r.kind
          WHERE r.handoff_number IS NOT NULL AND r.job_id IS NOT NULL"
    };
}

fn job_from_row(row: &Row<'_>) -> Result<Job> {
    Ok(Job {
        request_id: row.parsed(0)?,
        job_id: row.text(1)?,
        task_id: row.parsed(2)?,
        workspace: row.text(3)?,
        kind: row.parsed(4)?,
        poll_command: row.optional_json(5)?,
        poll_seconds: row.optional_unsigned(6)?.unwrap_or_default(),
    })
}

/// Lists the jobs elsewhere that have not ended.
pub(crate) fn jobs(view: &View<'_>) -> Result<Vec<Job>> {
    const ALL: Statement<0> = sql!(select_jobs!(), " ORDER BY r.number");
    view.rows(ALL, params![], job_from_row)
}

/// Finds the job of a request, if it has not ended.
pub(crate) fn job(view: &View<'_>, id: &RequestId) -> Result<Option<Job>> {
    const ONE: Statement<1> = sql!(select_jobs!(), " AND r.id = $1");
    view.row(ONE, params![id.as_str()], job_from_row)
}

/// Ends the hand-off of a job, unless it has ended.
pub(crate) fn end_job(tx: &mut Tx<'_>, job: &Job, outcome: Outcome, output: &Text) -> Result<bool> {
    let stored = requests::load(tx, &job.request_id)?;
    let is_it = stored.request.job_id.as_ref() == Some(&job.job_id);
    let Some(handoff_number) = stored.handoff_number.filter(|_| is_it) else {
        return Ok(false);
    };
    handoff::end_by_number(tx, handoff_number, outcome, output)?;
    Ok(true)
}
