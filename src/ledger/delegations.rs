//! Asking an agent and waiting for it.

use super::caller::{self, Caller};
use super::handoffs::{self, Begin};
use super::{agent, lineage, message};
use crate::domain::{AgentName, MessageType, Mode, Move, NewMessage, Refusal, Task, Text};
use crate::ledger::task;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, StartHandoff, Tx, params, sql};

pub(crate) fn start(tx: &mut Tx<'_>, start: &StartHandoff) -> Result<Task> {
    let caller = start
        .caller
        .as_ref()
        .map(|caller| Caller::load(tx, caller))
        .transpose()?;
    let mut on = task::load(tx, &start.task_id)?;
    let agent_name = agent::resolve(tx, &start.agent_name)?;
    let own = caller.as_ref().filter(|caller| {
        on.task
            .open_handoff()
            .is_some_and(|open| open.id == caller.identity.handoff_id)
    });
    if let Some(caller) = &caller {
        let step = lineage::Step {
            from_number: Some(caller.number),
            from_agent: Some(&caller.identity.agent_name),
            to_agent: &agent_name,
            task_number: on.number,
            makes_child: own.is_some(),
        };
        lineage::check(tx, &step, start.limits)?;
    }
    if own.is_some() {
        on = child(tx, &on, &agent_name)?;
    }
    let resumes = if start.resume {
        Some(last_session(tx, on.number, &agent_name)?)
    } else {
        None
    };
    let begin = Begin {
        mode: Mode::Delegate,
        agent_name,
        from_agent: caller
            .as_ref()
            .map(|caller| caller.identity.agent_name.clone()),
        from_number: caller.as_ref().map(|caller| caller.number),
        waiter_number: caller.as_ref().map(|caller| caller.number),
        trace: caller::trace(start.trace.as_ref(), caller.as_ref().map(Caller::traced)),
        prompt: start.prompt.as_str(),
        reason: start.reason.as_ref(),
        resumes: resumes.as_deref(),
        is_invoked: true,
    };
    Ok(handoffs::begin(tx, on, begin)?.on.task)
}

/// Makes the task on which the work goes on while the agent that hands on waits.
fn child(tx: &mut Tx<'_>, parent: &StoredTask, agent_name: &AgentName) -> Result<StoredTask> {
    let child = handoffs::make_child(
        tx,
        parent,
        agent_name,
        parent.task.context.without_metadata(),
    )?;
    let asked = NewMessage {
        message_type: MessageType::SubtaskCreated,
        content: Text::lossy(format!("Asked {agent_name}")),
        data: Some(Move {
            from_agent: parent.task.current_agent().cloned(),
            to_agent: agent_name.clone(),
            task_id: child.task.id.clone(),
            tool: None,
            variables: None,
            reason: None,
        }),
    };
    message::say(tx, parent, &asked)?;
    Ok(child)
}

/// Finds the session that an agent had last on a task.
fn last_session(tx: &Tx<'_>, task_number: i64, agent_name: &AgentName) -> Result<String> {
    tx.row(
        sql!(
            "SELECT r.session_id FROM runs r
               JOIN handoffs h ON h.number = r.handoff_number
              WHERE h.task_number = $1 AND h.agent_name = $2 AND r.session_id IS NOT NULL
              ORDER BY r.number DESC LIMIT 1"
        ),
        params![task_number, agent_name.as_str()],
        |row| row.string(0),
    )?
    .ok_or_else(|| Refusal::NothingToResume(agent_name.clone()).into())
}
