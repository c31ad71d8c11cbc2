//! Moving a session: its conversation goes from the current agent to another one.

use crate::domain::{
    AgentName, Caller, Context, Door, Move, Needs, NewMessage, NewTask, Outcome, SessionMove,
    Source, Status, TaskId, TaskPlan, Text, TraceParent,
};
use crate::ledger::{agent, message, reactions, rights, task};
use crate::store::tables::handoffs;
use crate::store::tables::sessions::{self, NewSessionHandoff, SessionHolder};
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx, View};

use super::begin::{Begin, Begun, begin};
use super::calling_run::{self, CallingRun};
use super::close::{Cause, Ending};
use super::control::{LeftRun, Moved, give_up_control, moved_message};
use super::lineage;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveSession {
    pub asked: SessionMove,
    /// The id and working directory of the task that is created for a new session.
    pub new_task: (TaskId, Text),
    pub caller: Caller,
    /// The trace named by the caller.
    pub trace: Option<TraceParent>,
}

/// Moves a conversation to another agent. Creates the task of a new session.
pub fn move_session(tx: &mut Tx<'_>, to: &MoveSession) -> Result<Moved> {
    let caller = CallingRun::of(tx, &to.caller)?;
    let checked = check(tx, to, caller.as_ref())?;
    carry_out(tx, to, checked, caller.as_ref())
}

/// A move that passed all checks.
struct Checked {
    target: AgentName,
    found: Option<SessionHolder>,
    /// The previous hand-off of the chain.
    from_number: Option<i64>,
}

/// Checks everything before the first write.
fn check(tx: &Tx<'_>, to: &MoveSession, caller: Option<&CallingRun<'_>>) -> Result<Checked> {
    let asked = &to.asked;
    // The agents may have changed since the request was validated.
    let target = agent::resolve(tx, asked.to_agent.as_str())?;
    let found = sessions::find_holder(tx, &asked.session_id)?;
    if let (Some(holder), Some(run)) = (&found, caller) {
        rights::may_move_session(tx, run, holder)?;
    }
    let (from_number, task_id) = match (&found, caller) {
        (Some(found), _) => (Some(found.handoff_number), Some(&found.task_id)),
        // A session that is started by a run is a child of the run's task.
        (None, Some(caller)) => (Some(caller.number), Some(&caller.identity.task_id)),
        (None, None) => (None, None),
    };
    if let (true, Some(task_id), Some(caller)) = (asked.invoke, task_id, caller) {
        let step = lineage::Step {
            from_number,
            from_agent: Some(&asked.from_agent),
            to_agent: &target,
            task_number: task::number(tx, task_id)?,
            makes_child: found.is_none(),
        };
        lineage::check(tx, caller.counted_from, &step)?;
    }
    Ok(Checked {
        target,
        found,
        from_number,
    })
}

fn carry_out(
    tx: &mut Tx<'_>,
    to: &MoveSession,
    checked: Checked,
    caller: Option<&CallingRun<'_>>,
) -> Result<Moved> {
    let Checked {
        target,
        found,
        from_number,
    } = checked;
    let asked = &to.asked;
    let (waiter_number, asked_number) = waiter(tx, found.as_ref(), caller)?;
    let takes_control = found.as_ref().is_some_and(|found| found.is_open);
    let (session_number, on, left) = if let Some(found) = found {
        let (on, left) = take_conversation(tx, &found, to, &target, caller)?;
        (found.session_number, on, left)
    } else {
        let (number, on) = create_session(tx, to, caller)?;
        message::record_on_task(tx, &on, &moved_to(to, &target, &on))?;
        (number, on, None)
    };
    let next = Begin {
        from_agent: Some(asked.from_agent.clone()),
        from_number,
        waiter_number,
        asked_number,
        trace: calling_run::trace(to.trace.as_ref(), caller.map(CallingRun::traced)),
        reason: Some(&asked.reason),
        is_invoked: asked.invoke,
        takes_control,
        counted_from: caller.map(|caller| caller.counted_from),
        ..Begin::new(Door::Session, target, asked.user_intent.as_str())
    };
    let Begun {
        mut on,
        handoff_number,
    } = begin(tx, on, next)?;
    let row = NewSessionHandoff {
        session_number,
        handoff_number,
        from_agent: &asked.from_agent,
        to_agent: &asked.to_agent,
        harness_trace_id: asked.harness_trace_id.as_ref(),
        history: &asked.conversation_history,
    };
    sessions::insert_handoff(tx, &row)?;
    if !asked.invoke {
        let output = Text::default();
        let ending = Ending::new(Cause::Recorded, Outcome::Completed, &output);
        on = reactions::end_handoff(tx, on, &ending)?;
    }
    Ok(Moved {
        task: on.task,
        left,
    })
}

fn moved_to(to: &MoveSession, target: &AgentName, on: &StoredTask) -> NewMessage {
    let data = Move {
        from_agent: Some(to.asked.from_agent.clone()),
        to_agent: target.clone(),
        task_id: on.task.id.clone(),
        tool: None,
        variables: None,
        reason: Some(to.asked.reason.clone()),
    };
    moved_message(target, data)
}

/// Returns the hand-off whose agent waits. If a run moves a conversation that it does not hold, that is the run's hand-off; if
/// the conversation is taken from an agent, its waiter is inherited, with the hand-off that the waiter asked for.
fn waiter(
    view: &View<'_>,
    found: Option<&SessionHolder>,
    caller: Option<&CallingRun<'_>>,
) -> Result<(Option<i64>, Option<i64>)> {
    Ok(match (found, caller) {
        (Some(found), Some(caller)) if caller.number == found.handoff_number => {
            (caller.waiter_number, caller.answered)
        }
        (_, Some(caller)) => (Some(caller.number), None),
        (Some(found), None) if found.is_open && found.waiter_number.is_some() => {
            let asked = handoffs::find_asked(view, found.handoff_number)?;
            (found.waiter_number, asked)
        }
        (_, None) => (None, None),
    })
}

/// Takes the conversation from its current agent. Returns the session's task, and the run that must be stopped.
fn take_conversation(
    tx: &mut Tx<'_>,
    found: &SessionHolder,
    to: &MoveSession,
    target: &AgentName,
    caller: Option<&CallingRun<'_>>,
) -> Result<(StoredTask, Option<LeftRun>)> {
    let mut on = task::load(tx, &found.task_id)?;
    let message = moved_to(to, target, &on);
    if found.handoff_task_id == found.task_id {
        message::record_on_task(tx, &on, &message)?;
        if !found.is_open {
            return Ok((on, None));
        }
        return give_up_control(tx, on, target, caller);
    }
    // A tool passed the conversation to another task, and the session's own task completed then. The conversation returns here.
    let away = task::load(tx, &found.handoff_task_id)?;
    message::record_on_task(tx, &away, &message)?;
    let mut left = None;
    if found.is_open {
        let (mut away, run) = give_up_control(tx, away, target, caller)?;
        reactions::change_status(tx, &mut away, Status::Completed)?;
        left = run;
    }
    reactions::change_status(tx, &mut on, Status::Waiting)?;
    Ok((on, left))
}

/// Creates a session and its task. The task is a child of the calling run's task, if a run calls.
fn create_session(
    tx: &mut Tx<'_>,
    to: &MoveSession,
    caller: Option<&CallingRun<'_>>,
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
        plan: TaskPlan::default(),
        source: Source {
            source_type: "session".parse().expect("has no NUL"),
            conversation_id: Some(session_id),
            ..Source::default()
        },
        agent_workspace,
    };
    let on = task::create(tx, &new)?;
    let number = sessions::insert(tx, &to.asked.session_id, on.number, tx.now)?;
    Ok((number, on))
}
