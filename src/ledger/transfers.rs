//! Passing control by a tool: the task completes, and a child task goes on.

use serde_json::{Map, Value};

use super::caller::{self, Caller};
use super::handoffs::{self, Begin, routed_to};
use super::{agent, lineage, message, routing};
use crate::domain::{
    AgentName, ChainEntry, Context, EventKind, HandoffMetadata, Mode, Move, NewMessage, Refusal,
    Status, Text, Tool, ToolName, TraceId,
};
use crate::ledger::{history, reactions, task};
use crate::store::tables::tasks::StoredTask;
use crate::store::tables::tools;
use crate::store::{Moved, Result, StoreError, Transfer, Tx, params, sql};

pub(crate) fn transfer(tx: &mut Tx<'_>, asked: &Transfer) -> Result<Moved> {
    let caller = asked
        .caller
        .as_ref()
        .map(|caller| Caller::load(tx, caller))
        .transpose()?;
    let passing = check(tx, asked, caller.as_ref())?;
    carry_out(tx, asked, passing, caller.as_ref())
}

/// A transfer that may be carried out.
struct Passing {
    on: StoredTask,
    last: Option<LastHandoff>,
    target: AgentName,
    tool: ToolName,
    variables: Map<String, Value>,
    context: Context,
}

/// Checks everything before anything is written.
fn check(tx: &Tx<'_>, asked: &Transfer, caller: Option<&Caller<'_>>) -> Result<Passing> {
    let name = ToolName::parse(asked.tool.as_str()).ok();
    let tool = name
        .map(|name| tools::find(tx, &name))
        .transpose()?
        .flatten();
    let Some(tool) = tool else {
        return Err(Refusal::NoSuchTool {
            asked: asked.tool.clone(),
            known: tools::names(tx)?,
        }
        .into());
    };
    let on = task::load(tx, &asked.task_id)?;
    if caller.is_some_and(|caller| caller.identity.task_id != asked.task_id) {
        return Err(Refusal::NotItsOwnTask(asked.task_id.clone()).into());
    }
    let last = on.task.agent_chain().last();
    let last = last.map(|entry| LastHandoff::load(tx, entry)).transpose()?;
    check_is_free(tx, &on, last.as_ref())?;
    let from_agent = last.as_ref().map(|last| &last.entry.agent_name);
    check_is_allowed(&tool, from_agent)?;
    let variables = tool
        .check_arguments(&asked.arguments)
        .map_err(Refusal::Invalid)?;
    let target = agent::resolve(tx, tool.target_agent.as_str())?;
    let step = lineage::Step {
        from_number: last.as_ref().map(|last| last.number),
        from_agent,
        to_agent: &target,
        task_number: on.number,
        makes_child: true,
    };
    let chain = lineage::check(tx, &step, asked.limits)?;
    let metadata = HandoffMetadata {
        from: from_agent.map(ToString::to_string),
        tool: tool.name.to_string(),
        instructions: tool.handoff_instructions.into_string(),
        chain: chain.iter().map(ToString::to_string).collect(),
    };
    let context = on.task.context.merged(&variables, metadata);
    let limit = asked.largest_context;
    if serde_json::to_vec(&context).is_ok_and(|json| json.len() > limit) {
        return Err(Refusal::ContextTooLarge { limit }.into());
    }
    Ok(Passing {
        on,
        last,
        target,
        tool: tool.name,
        variables,
        context,
    })
}

/// Completes the task, and goes on with a child of it.
fn carry_out(
    tx: &mut Tx<'_>,
    asked: &Transfer,
    passing: Passing,
    caller: Option<&Caller<'_>>,
) -> Result<Moved> {
    let Passing {
        mut on,
        last,
        target,
        tool,
        variables,
        context,
    } = passing;
    let from_agent = last.as_ref().map(|last| last.entry.agent_name.clone());
    let merge = context.since(&on.task.context);
    let child = handoffs::make_child(tx, &on, &target, context)?;
    let data = Move {
        from_agent: from_agent.clone(),
        to_agent: target.clone(),
        task_id: child.task.id.clone(),
        tool: Some(Text::lossy(tool.to_string())),
        variables: Some(variables),
        reason: None,
    };
    message::say(tx, &on, &NewMessage::of_move(routed_to(&target), data))?;
    let mut left = None;
    if on.task.open_handoff().is_some() {
        let (closed, run) = handoffs::leave(tx, on, &target, caller)?;
        (on, left) = (closed.on, run);
    }
    reactions::change_status(tx, &mut on, Status::Completed)?;
    history::record(tx, child.on(), None, EventKind::ContextMerged(merge))?;
    let traced = last
        .as_ref()
        .map(|last| (&last.entry.id, last.trace_id.as_ref()));
    let next = Begin {
        mode: Mode::Transfer,
        agent_name: target,
        from_agent,
        from_number: last.as_ref().map(|last| last.number),
        waiter_number: last.as_ref().and_then(|last| last.waiter_number),
        trace: caller::trace(asked.trace.as_ref(), traced),
        prompt: last
            .as_ref()
            .map_or(on.task.description.as_str(), |last| &last.prompt),
        reason: None,
        resumes: None,
        is_invoked: true,
    };
    let task = handoffs::begin(tx, child, next)?.on.task;
    Ok(Moved { task, left })
}

/// The last hand-off of a task, which has control or had it last.
struct LastHandoff {
    entry: ChainEntry,
    number: i64,
    waiter_number: Option<i64>,
    trace_id: Option<TraceId>,
    prompt: String,
}

impl LastHandoff {
    fn load(tx: &Tx<'_>, entry: &ChainEntry) -> Result<Self> {
        tx.row(
            sql!("SELECT number, waiter_number, trace_id, prompt FROM handoffs WHERE id = $1"),
            params![entry.id.as_str()],
            |row| {
                Ok(Self {
                    entry: entry.clone(),
                    number: row.integer(0)?,
                    waiter_number: row.optional_integer(1)?,
                    trace_id: row.optional_parsed(2)?,
                    prompt: row.string(3)?,
                })
            },
        )?
        .ok_or_else(|| StoreError::inconsistent(format!("hand-off {} is not there", entry.id)))
    }
}

/// Refuses to move control a second time, or that of a task that is done.
fn check_is_free(tx: &Tx<'_>, on: &StoredTask, last: Option<&LastHandoff>) -> Result<()> {
    let task_id = on.task.id.clone();
    if let Some(last) = last
        && let Some(agent_name) = handoffs::transferred_to(tx, last.number)?
    {
        return Err(Refusal::AlreadyMoved {
            task_id,
            agent_name,
        }
        .into());
    }
    routing::check_own_report(on)?;
    // Whoever works on a task has control of it, whatever its status.
    if on.task.open_handoff().is_some() {
        return Ok(());
    }
    match on.task.status {
        Status::Pending | Status::Active | Status::Waiting => Ok(()),
        Status::Completed | Status::Failed { .. } => Err(match moved_below(tx, on.number)? {
            Some(agent_name) => Refusal::AlreadyMoved {
                task_id,
                agent_name,
            },
            None => Refusal::TaskEnded {
                task_id,
                status: on.task.status.name().as_str(),
            },
        }
        .into()),
    }
}

/// Finds the agent to which control of a task moved last.
fn moved_below(tx: &Tx<'_>, task_number: i64) -> Result<Option<AgentName>> {
    tx.row(
        sql!(
            "SELECT h.agent_name FROM tasks c
               JOIN handoffs h ON h.task_number = c.number AND h.position = 1 AND h.mode = 'transfer'
              WHERE c.parent_number = $1
              ORDER BY c.number DESC LIMIT 1"
        ),
        params![task_number],
        |row| row.parsed(0),
    )
}

/// Refuses an agent that may not use a tool. A person may use each.
fn check_is_allowed(tool: &Tool, agent: Option<&AgentName>) -> Result<()> {
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
