//! Transferring: a tool passes control, the task completes, and a child task continues.

use serde_json::{Map, Value};

use crate::domain::{
    AgentName, Caller, ChainEntry, Context, Door, EventKind, HandoffMetadata, Move, Needs, Refusal,
    Status, TaskId, Text, Tool, ToolName, TraceParent,
};
use crate::ledger::{agent, history, increment, message, reactions, rights, task};
use crate::store::tables::handoffs::{self, HandoffLink};
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::tools;
use crate::store::{Result, StoreError, Tx, View};

use super::begin::{Begin, begin, create_child};
use super::calling_run::{self, CallingRun};
use super::control::{Moved, give_up_control, moved_message};
use super::lineage;

#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    pub task_id: TaskId,
    /// The tool's name as the caller wrote it.
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub caller: Caller,
    /// The trace named by the caller.
    pub trace: Option<TraceParent>,
}

/// Passes control of a task by a hand-off tool.
pub fn transfer(tx: &mut Tx<'_>, asked: &Transfer) -> Result<Moved> {
    let caller = CallingRun::of(tx, &asked.caller)?;
    let checked = check(tx, asked, caller.as_ref())?;
    carry_out(tx, asked, checked, caller.as_ref())
}

/// A transfer that passed all checks.
struct Checked {
    on: StoredTask,
    last: Option<LastHandoff>,
    target: AgentName,
    tool: ToolName,
    variables: Map<String, Value>,
    context: Context,
}

/// Checks everything before the first write.
fn check(tx: &Tx<'_>, asked: &Transfer, caller: Option<&CallingRun<'_>>) -> Result<Checked> {
    let tool = find_tool(tx, &asked.tool)?;
    let on = task::load(tx, &asked.task_id)?;
    rights::may_pass_on(&asked.caller, &asked.task_id)?;
    let last = on.task.agent_chain().last();
    let last = last.map(|entry| LastHandoff::load(tx, entry)).transpose()?;
    check_has_control(tx, &on, last.as_ref())?;
    let from_agent = last.as_ref().map(|last| &last.entry.agent_name);
    check_may_use(&tool, from_agent)?;
    let variables = tool
        .check_arguments(&asked.arguments)
        .map_err(Refusal::Invalid)?;
    let target = agent::resolve(tx, tool.target_agent.as_str())?;
    let from_number = last.as_ref().map(|last| last.link.number);
    if let Some(caller) = caller {
        let step = lineage::Step {
            from_number,
            from_agent,
            to_agent: &target,
            task_number: on.number,
            makes_child: true,
        };
        lineage::check(tx, caller.counted_from, &step)?;
    }
    let chain = lineage::agents_before(tx, from_number, from_agent)?;
    let metadata = HandoffMetadata {
        from: from_agent.map(ToString::to_string),
        tool: tool.name.to_string(),
        instructions: tool.handoff_instructions.into_string(),
        chain: chain.iter().map(ToString::to_string).collect(),
    };
    let context = on.task.context.merged(&variables, metadata);
    let limit = tx.rules.largest_context;
    if serde_json::to_vec(&context).is_ok_and(|json| json.len() > limit) {
        return Err(Refusal::ContextTooLarge { limit }.into());
    }
    Ok(Checked {
        on,
        last,
        target,
        tool: tool.name,
        variables,
        context,
    })
}

/// Completes the task and continues with a child task.
fn carry_out(
    tx: &mut Tx<'_>,
    asked: &Transfer,
    checked: Checked,
    caller: Option<&CallingRun<'_>>,
) -> Result<Moved> {
    let Checked {
        mut on,
        last,
        target,
        tool,
        variables,
        context,
    } = checked;
    let last = last.as_ref();
    let from_agent = last.map(|last| last.entry.agent_name.clone());
    let merge = context.changes_since(&on.task.context);
    let needs = Needs {
        agent_context: on.task.needs.agent_context.clone(),
        handoff_instructions: on.task.needs.handoff_instructions.clone(),
        ..Needs::default()
    };
    let counted_from = caller.map(|caller| caller.counted_from);
    let is_delegated = on.task.is_delegated;
    let child = create_child(tx, &on, &target, context, needs, is_delegated, counted_from)?;
    let data = Move {
        from_agent: from_agent.clone(),
        to_agent: target.clone(),
        task_id: child.task.id.clone(),
        tool: Some(Text::lossy(tool.to_string())),
        variables: Some(variables),
        reason: None,
    };
    message::record_on_task(tx, &on, &moved_message(&target, data))?;
    let mut left = None;
    if on.task.open_handoff().is_some() {
        (on, left) = give_up_control(tx, on, &target, caller)?;
    }
    reactions::change_status(tx, &mut on, Status::Completed)?;
    history::record(tx, child.on(), None, EventKind::ContextMerged(merge))?;
    let traced = last.map(|last| (&last.entry.id, last.link.trace_id.as_ref()));
    let prompt = last.map_or(&on.task.description, |last| &last.prompt);
    let next = Begin {
        from_agent,
        from_number: last.map(|last| last.link.number),
        waiter_number: last.and_then(|last| last.link.waiter_number),
        asked_number: last.and_then(|last| last.link.answered()),
        trace: calling_run::trace(asked.trace.as_ref(), traced),
        takes_control: true,
        counted_from,
        ..Begin::new(Door::Transfer, target, prompt.as_str())
    };
    let task = begin(tx, child, next)?.on.task;
    Ok(Moved { task, left })
}

fn find_tool(view: &View<'_>, asked: &str) -> Result<Tool> {
    let name = ToolName::parse(asked).ok();
    let tool = name.map(|name| tools::find(view, &name)).transpose()?;
    match tool.flatten() {
        Some(tool) => Ok(tool),
        None => Err(Refusal::NoSuchTool {
            asked: asked.to_owned(),
            known: tools::names(view)?,
        }
        .into()),
    }
}

/// The last hand-off of a task. Its agent has control, or had it last.
struct LastHandoff {
    entry: ChainEntry,
    link: HandoffLink,
    prompt: Text,
}

impl LastHandoff {
    fn load(view: &View<'_>, entry: &ChainEntry) -> Result<Self> {
        let missing = || StoreError::inconsistent(format!("hand-off {} does not exist", entry.id));
        let link = handoffs::find_link(view, &entry.id)?.ok_or_else(missing)?;
        let prompt = handoffs::find_prompt(view, link.number)?.ok_or_else(missing)?;
        Ok(Self {
            entry: entry.clone(),
            link,
            prompt,
        })
    }
}

/// Refuses to move control a second time, or on an ended task.
fn check_has_control(view: &View<'_>, on: &StoredTask, last: Option<&LastHandoff>) -> Result<()> {
    let task_id = on.task.id.clone();
    if let Some(last) = last
        && let Some(agent_name) = handoffs::find_transfer_target(view, last.link.number)?
    {
        return Err(Refusal::AlreadyMoved {
            task_id,
            agent_name,
        }
        .into());
    }
    increment::check_own_report(on)?;
    // An agent that is active on a task has control of it, whatever the task's status.
    if on.task.open_handoff().is_some() {
        return Ok(());
    }
    match on.task.status {
        Status::Pending | Status::Active | Status::Waiting => Ok(()),
        Status::Completed | Status::Failed { .. } => {
            let target = handoffs::find_transfer_target_below(view, on.number)?;
            Err(match target {
                Some(agent_name) => Refusal::AlreadyMoved {
                    task_id,
                    agent_name,
                },
                None => Refusal::TaskEnded {
                    task_id,
                    status: on.task.status.name(),
                },
            }
            .into())
        }
    }
}

/// Refuses an agent that is not allowed to call the tool. Other callers may call every tool.
fn check_may_use(tool: &Tool, agent: Option<&AgentName>) -> Result<()> {
    match agent {
        Some(agent) if !tool.may_be_used_by(agent) => Err(Refusal::ToolNotAllowed {
            agent: agent.clone(),
            tool: tool.name.clone(),
            allowed: tool.allowed_agents.clone(),
        }
        .into()),
        _ => Ok(()),
    }
}
