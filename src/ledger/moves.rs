//! Moving a conversation to another agent.

use super::caller::{self, Caller};
use super::handoffs::{self, Begin, Begun, routed_to};
use super::sessions::{self, NewRow, holder};
use super::{agent, lineage, message};
use crate::domain::{
    AgentName, Context, Mode, Move, Needs, NewMessage, NewTask, Outcome, Refusal, SessionId,
    Source, Status, TaskId, Text,
};
use crate::ledger::{reactions, task};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{LeftRun, MoveSession, Moved, Result, Tx, params, sql};

pub(crate) fn move_to(tx: &mut Tx<'_>, to: &MoveSession) -> Result<Moved> {
    let asked = &to.asked;
    let caller = to
        .caller
        .as_ref()
        .map(|caller| Caller::load(tx, caller))
        .transpose()?;
    // They may have changed since the request was looked at.
    let target = agent::resolve(tx, asked.to_agent.as_str())?;
    let found = find(tx, &asked.session_id)?;
    check_reach(tx, found.as_ref(), caller.as_ref())?;
    let (from_number, task_number) = match (&found, &caller) {
        (Some(found), _) => (Some(found.holder.number), Some(found.on.number)),
        // A conversation that a run begins is a child of its task.
        (None, Some(caller)) => {
            let place = task::keys(tx, &caller.identity.task_id)?;
            (Some(caller.number), Some(place.number))
        }
        (None, None) => (None, None),
    };
    if let (true, Some(task_number)) = (asked.invoke, task_number) {
        let step = lineage::Step {
            from_number,
            from_agent: Some(&asked.from_agent),
            to_agent: &target,
            task_number,
            makes_child: found.is_none(),
        };
        lineage::check(tx, &step, to.limits)?;
    }
    let waiter_number = waiter(found.as_ref(), caller.as_ref());
    let (session_number, on, left) = if let Some(found) = found {
        let number = found.number;
        let (on, left) = take(tx, found, to, &target, caller.as_ref())?;
        (number, on, left)
    } else {
        let (number, on) = create(tx, to, caller.as_ref())?;
        message::say(tx, &on, &routed(to, &target, &on))?;
        (number, on, None)
    };
    let next = Begin {
        mode: Mode::Session,
        agent_name: target,
        from_agent: Some(asked.from_agent.clone()),
        from_number,
        waiter_number,
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

/// Says where the conversation goes.
fn routed(to: &MoveSession, target: &AgentName, on: &StoredTask) -> NewMessage {
    let data = Move {
        from_agent: Some(to.asked.from_agent.clone()),
        to_agent: target.clone(),
        task_id: on.task.id.clone(),
        tool: None,
        variables: None,
        reason: Some(to.asked.reason.clone()),
    };
    NewMessage::of_move(routed_to(target), data)
}

/// A session that is there.
struct Found {
    number: i64,
    on: StoredTask,
    holder: Holder,
}

/// The last hand-off of a session: the agent that has the conversation, wherever tools have passed it.
struct Holder {
    number: i64,
    task_id: TaskId,
    waiter_number: Option<i64>,
    is_open: bool,
}

fn find(tx: &Tx<'_>, id: &SessionId) -> Result<Option<Found>> {
    let found = tx.row(
        sql!(
            "SELECT s.number, t.id, h.number, o.id, h.waiter_number, h.completed_at IS NULL
               FROM sessions s
               JOIN tasks t ON t.number = s.task_number
               JOIN handoffs h ON h.number = ",
            holder!(),
            " JOIN tasks o ON o.number = h.task_number
              WHERE s.id = $1"
        ),
        params![id.as_str()],
        |row| {
            let holder = Holder {
                number: row.integer(2)?,
                task_id: row.parsed(3)?,
                waiter_number: row.optional_integer(4)?,
                is_open: row.integer(5)? != 0,
            };
            let task_id: TaskId = row.parsed(1)?;
            Ok((row.integer(0)?, task_id, holder))
        },
    )?;
    let Some((number, task_id, holder)) = found else {
        return Ok(None);
    };
    Ok(Some(Found {
        number,
        on: task::load(tx, &task_id)?,
        holder,
    }))
}

/// Refuses a run that moves a conversation which it does not have, and which is not below its task.
fn check_reach(tx: &Tx<'_>, found: Option<&Found>, caller: Option<&Caller<'_>>) -> Result<()> {
    let (Some(found), Some(caller)) = (found, caller) else {
        return Ok(());
    };
    let own = &caller.identity.task_id;
    if caller.number == found.holder.number || tasks::is_below(tx, &found.on.task.id, own)? {
        return Ok(());
    }
    Err(Refusal::NotItsOwnTask(found.on.task.id.clone()).into())
}

/// Returns the hand-off whose agent waits: that of a run that moves a conversation which it does not have; or, where the
/// conversation is taken from an agent, the one that waited for that.
fn waiter(found: Option<&Found>, caller: Option<&Caller<'_>>) -> Option<i64> {
    match (found, caller) {
        (Some(found), Some(caller)) if caller.number == found.holder.number => caller.waiter_number,
        (_, Some(caller)) => Some(caller.number),
        (Some(found), None) if found.holder.is_open => found.holder.waiter_number,
        (_, None) => None,
    }
}

/// Takes the conversation from the agent that has it. Returns the session's task, and the run that is no longer needed.
fn take(
    tx: &mut Tx<'_>,
    found: Found,
    to: &MoveSession,
    target: &AgentName,
    caller: Option<&Caller<'_>>,
) -> Result<(StoredTask, Option<LeftRun>)> {
    let Found { mut on, holder, .. } = found;
    let message = routed(to, target, &on);
    if holder.task_id == on.task.id {
        message::say(tx, &on, &message)?;
        if !holder.is_open {
            return Ok((on, None));
        }
        let (closed, left) = handoffs::leave(tx, on, target, caller)?;
        return Ok((closed.on, left));
    }
    // A tool passed it to another task, and the session's own is complete since then: it goes on here.
    let away = task::load(tx, &holder.task_id)?;
    message::say(tx, &away, &message)?;
    let mut left = None;
    if holder.is_open {
        let (closed, run) = handoffs::leave(tx, away, target, caller)?;
        let mut away = closed.on;
        reactions::change_status(tx, &mut away, Status::Completed)?;
        left = run;
    }
    reactions::change_status(tx, &mut on, Status::Waiting)?;
    Ok((on, left))
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
        needs: Needs::default(),
        part: None,
        source: Source {
            source_type: "session".parse().expect("has no NUL"),
            conversation_id: Some(session_id),
            ..Source::default()
        },
        agent_workspace,
    };
    let on = task::create(tx, &new)?;
    let number = sessions::insert_session(tx, &to.asked.session_id, on.number, tx.now)?;
    Ok((number, on))
}
