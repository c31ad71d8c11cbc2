//! Delegating: a caller asks an agent and waits for the answer.

use crate::domain::{
    AgentName, Caller, Door, MessageType, Move, Needs, NewMessage, ProviderSession, Refusal, Task,
    TaskId, Text, TraceParent,
};
use crate::ledger::{agent, message, task};
use crate::store::tables::delegations::{self, NewDelegation};
use crate::store::tables::runs;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx};

use super::answer::Delegated;
use super::begin::{Begin, Begun, begin, create_child};
use super::calling_run::{self, CallingRun};
use super::lineage;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    pub task_id: TaskId,
    /// The agent's name as the caller wrote it.
    pub agent_name: String,
    pub prompt: Text,
    pub reason: Option<Text>,
    /// Whether to resume the agent's last session on this task.
    pub resume: bool,
    /// Whether a run wants a new hand-off, although it has not got the answer of an earlier one with the same words.
    pub new: bool,
    /// Whether a run continues without the answer.
    pub detached: bool,
    pub caller: Caller,
    /// The trace named by the caller.
    pub trace: Option<TraceParent>,
}

/// Hands off a task. A run that hands off its own task gets a child task, because its own task is not idle. A run that repeats its
/// words before it got the answer gets the same hand-off: its program may have stopped the command that waited.
pub fn delegate(tx: &mut Tx<'_>, asked: &Delegate) -> Result<Delegated> {
    let caller = CallingRun::of(tx, &asked.caller)?;
    if let Some(task) = find_repeated(tx, asked, caller.as_ref())? {
        return Ok(Delegated {
            task,
            is_existing: true,
        });
    }
    let checked = check(tx, asked, caller.as_ref())?;
    let task = carry_out(tx, asked, checked, caller.as_ref())?;
    Ok(Delegated {
        task,
        is_existing: false,
    })
}

/// Finds the hand-off that a run asks for once more.
fn find_repeated(
    tx: &Tx<'_>,
    asked: &Delegate,
    caller: Option<&CallingRun<'_>>,
) -> Result<Option<Task>> {
    let Some(caller) = caller.filter(|_| !asked.new) else {
        return Ok(None);
    };
    let task_number = task::number(tx, &asked.task_id)?;
    let agent_name = agent::resolve(tx, &asked.agent_name)?;
    let repeated =
        delegations::find_undelivered(tx, caller.number, task_number, &agent_name, &asked.prompt)?;
    let Some(repeated) = repeated else {
        return Ok(None);
    };
    if !asked.detached {
        delegations::mark_awaited(tx, repeated.number)?;
    }
    Ok(Some(task::get(tx, &repeated.task_id)?))
}

/// A delegation that passed all checks.
struct Checked {
    on: StoredTask,
    agent_name: AgentName,
    makes_child: bool,
    resumes: Option<ProviderSession>,
}

/// Checks everything before the first write.
fn check(tx: &Tx<'_>, asked: &Delegate, caller: Option<&CallingRun<'_>>) -> Result<Checked> {
    let on = task::load(tx, &asked.task_id)?;
    let agent_name = agent::resolve(tx, &asked.agent_name)?;
    let makes_child =
        caller.is_some_and(|caller| on.task.is_worked_on_by(&caller.identity.handoff_id));
    if let Some(caller) = caller {
        let step = lineage::Step {
            from_number: Some(caller.number),
            from_agent: Some(&caller.identity.agent_name),
            to_agent: &agent_name,
            task_number: on.number,
            makes_child,
        };
        lineage::check(tx, caller.counted_from, &step)?;
    }
    let resumes = match asked.resume {
        false => None,
        // A child task is new, so no agent has a session on it.
        true if makes_child => return Err(Refusal::NothingToResume(agent_name).into()),
        true => {
            let session = runs::find_last_session(tx, on.number, &agent_name)?
                .ok_or_else(|| Refusal::NothingToResume(agent_name.clone()))?;
            let session = ProviderSession::parse(session)
                .map_err(|_| Refusal::UnusableSession(agent_name.clone()))?;
            Some(session)
        }
    };
    Ok(Checked {
        on,
        agent_name,
        makes_child,
        resumes,
    })
}

fn carry_out(
    tx: &mut Tx<'_>,
    asked: &Delegate,
    checked: Checked,
    caller: Option<&CallingRun<'_>>,
) -> Result<Task> {
    let Checked {
        mut on,
        agent_name,
        makes_child,
        resumes,
    } = checked;
    let task_number = on.number;
    let counted_from = caller.map(|caller| caller.counted_from);
    if makes_child {
        on = delegate_to_child(tx, &on, &agent_name, counted_from)?;
    }
    let next = Begin {
        from_agent: caller.map(|caller| caller.identity.agent_name.clone()),
        from_number: caller.map(|caller| caller.number),
        waiter_number: caller.map(|caller| caller.number),
        trace: calling_run::trace(asked.trace.as_ref(), caller.map(CallingRun::traced)),
        reason: asked.reason.as_ref(),
        resumes: resumes.as_ref(),
        counted_from,
        ..Begin::new(Door::Delegate, agent_name, asked.prompt.as_str())
    };
    let Begun { on, handoff_number } = begin(tx, on, next)?;
    if let Some(caller) = caller {
        let new = NewDelegation {
            handoff_number,
            caller_number: caller.number,
            task_number,
            is_awaited: !asked.detached,
        };
        delegations::insert(tx, &new)?;
    }
    Ok(on.task)
}

/// Creates the child task on which the work continues while the calling agent waits.
fn delegate_to_child(
    tx: &mut Tx<'_>,
    parent: &StoredTask,
    agent_name: &AgentName,
    counted_from: Option<i64>,
) -> Result<StoredTask> {
    let context = parent.task.context.without_metadata();
    // Instructions are for the agent of the task itself; its helpers get a prompt of their own.
    let needs = Needs {
        agent_context: parent.task.needs.agent_context.clone(),
        ..Needs::default()
    };
    let child = create_child(tx, parent, agent_name, context, needs, true, counted_from)?;
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
    message::record_on_task(tx, parent, &asked)?;
    Ok(child)
}
