//! Moving a conversation to another agent.

use rusqlite::params;

use super::caller::{self, Caller};
use super::handoffs::{self, Begin, Begun, Closed, routed_to};
use super::row::Columns;
use super::sessions::{self, NewRow};
use super::sql::sql;
use super::tasks::{self, StoredTask};
use super::writer::Tx;
use super::{agents, lineage, messages};
use crate::domain::{Context, Mode, Move, NewTask, Outcome, SessionId, Source, Text};
use crate::store::{MoveSession, Moved, Result};

pub(super) fn move_to(tx: &mut Tx<'_>, to: &MoveSession) -> Result<Moved> {
    let asked = &to.asked;
    let caller = to
        .caller
        .as_ref()
        .map(|caller| Caller::load(tx, caller))
        .transpose()?;
    // They may have changed since the request was looked at.
    let target = agents::resolve(tx, asked.to_agent.as_str())?;
    let found = find(tx, &asked.session_id)?;
    let (from, task_number) = match (&found, &caller) {
        (Some(found), _) => (found.last_handoff, Some(found.on.number)),
        // A conversation that a run begins is a child of its task.
        (None, Some(caller)) => {
            let place = tasks::place(tx, &caller.identity.task_id)?;
            (Some(caller.number), Some(place.number))
        }
        (None, None) => (None, None),
    };
    if let (true, Some(task_number)) = (asked.invoke, task_number) {
        let step = lineage::Step {
            from_number: from,
            from_agent: Some(&asked.from_agent),
            to_agent: &target,
            task_number,
            makes_child: found.is_none(),
        };
        lineage::check(tx, &step, to.limits)?;
    }
    let (session_number, on) = match found {
        Some(found) => (found.number, found.on),
        None => create(tx, to, caller.as_ref())?,
    };
    let data = Move {
        from_agent: Some(asked.from_agent.clone()),
        to_agent: target.clone(),
        task_id: on.task.id.clone(),
        tool: None,
        variables: None,
        reason: Some(asked.reason.clone()),
    };
    messages::say(tx, &on, &messages::moved(routed_to(&target), data))?;
    let (on, left) = if on.task.open_handoff().is_some() {
        let (Closed { on, .. }, left) = handoffs::leave(tx, on, &target, caller.as_ref())?;
        (on, left)
    } else {
        (on, None)
    };
    let next = Begin {
        mode: Mode::Session,
        agent_name: target,
        from_agent: Some(asked.from_agent.clone()),
        from_number: from,
        waiter_number: caller.as_ref().and_then(|caller| match &left {
            Some(left) if left.by_itself => caller.waiter_number,
            _ => Some(caller.number),
        }),
        trace: caller::trace(to.trace.as_ref(), caller.as_ref().map(Caller::traced)),
        prompt: asked.user_intent.as_str(),
        reason: Some(&asked.reason),
        resumes: None,
        is_invoked: asked.invoke,
    };
    let Begun {
        mut on,
        handoff_number,
    } = handoffs::begin(tx, on, next)?;
    let row = NewRow {
        session_number,
        handoff_number,
        from_agent: &asked.from_agent,
        to_agent: &asked.to_agent,
        harness_trace_id: asked.harness_trace_id.as_ref(),
        history: &asked.conversation_history,
    };
    sessions::insert(tx, &row)?;
    if !asked.invoke {
        // Somebody else has invoked the agent; that it happened is all there is to record.
        on = handoffs::close(tx, on, Outcome::Completed, &Text::default())?.on;
    }
    Ok(Moved {
        task: on.task,
        left,
    })
}

/// A session that is there.
struct Found {
    number: i64,
    on: StoredTask,
    /// The number of the task's last hand-off.
    last_handoff: Option<i64>,
}

fn find(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Found>> {
    let found = tx.row(
        sql!(
            "SELECT s.number, t.id, (SELECT h.number FROM handoffs h WHERE h.task_number = t.number
                                      ORDER BY h.position DESC LIMIT 1)
               FROM sessions s JOIN tasks t ON t.number = s.task_number WHERE s.id = $1"
        ),
        params![id.as_str()],
        |row| Ok((row.integer(0)?, row.parsed(1)?, row.optional_integer(2)?)),
    )?;
    let Some((number, task_id, last_handoff)) = found else {
        return Ok(None);
    };
    Ok(Some(Found {
        number,
        on: tasks::load(tx, &task_id)?,
        last_handoff,
    }))
}

/// Makes a session and its task; one that a run makes is below the run's own.
fn create(
    tx: &mut Tx<'_>,
    to: &MoveSession,
    caller: Option<&Caller<'_>>,
) -> Result<(i64, StoredTask)> {
    let (id, agent_workspace) = to.new_task.clone();
    let session_id = Text::lossy(to.asked.session_id.to_string());
    let new = NewTask {
        id,
        description: to.asked.user_intent.clone(),
        parent_id: caller.map(|caller| caller.identity.task_id.clone()),
        session_id: Some(session_id.clone()),
        context: Context::default(),
        source: Source {
            source_type: "session".parse().expect("has no NUL"),
            conversation_id: Some(session_id),
            ..Source::default()
        },
        agent_workspace,
    };
    let on = tasks::create(tx, &new)?;
    let number = sessions::insert_session(tx, &to.asked.session_id, on.number, tx.now)?;
    Ok((number, on))
}
