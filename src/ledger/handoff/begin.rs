//! Beginning a hand-off, for every door.

use crate::domain::{
    AgentName, Context, Door, EventKind, Needs, NewTask, ProviderSession, RunId, TaskId, Text,
    TraceParent,
};
use crate::ledger::{history, increment, message, routing, task};
use crate::store::tables::handoffs::{self, NewHandoff};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::tables::{requests, runs};
use crate::store::{Result, Tx};

pub struct Begin<'a> {
    pub mode: Door,
    pub agent_name: AgentName,
    pub from_agent: Option<AgentName>,
    /// The previous hand-off of the chain.
    pub from_number: Option<i64>,
    /// The hand-off whose agent waits for the end of this one.
    pub waiter_number: Option<i64>,
    /// The hand-off that the waiting agent asked for, if this one continues its work.
    pub asked_number: Option<i64>,
    pub trace: Option<TraceParent>,
    pub prompt: &'a str,
    pub reason: Option<&'a Text>,
    /// The provider's session to resume.
    pub resumes: Option<&'a ProviderSession>,
    /// Whether Chorus starts the agent's process.
    pub is_invoked: bool,
    /// Whether control was taken from the agent of `from_number`.
    pub takes_control: bool,
    /// The hand-off from which the limits count, if a run asks; otherwise the limits count from this one.
    pub counted_from: Option<i64>,
    /// Whether a person continues a conversation with the agent.
    pub is_chat: bool,
}

impl<'a> Begin<'a> {
    /// A hand-off without a previous one, a waiter or a reason.
    pub const fn new(mode: Door, agent_name: AgentName, prompt: &'a str) -> Self {
        Self {
            mode,
            agent_name,
            from_agent: None,
            from_number: None,
            waiter_number: None,
            asked_number: None,
            trace: None,
            prompt,
            reason: None,
            resumes: None,
            is_invoked: true,
            takes_control: false,
            counted_from: None,
            is_chat: false,
        }
    }
}

pub struct Begun {
    pub on: StoredTask,
    pub handoff_number: i64,
}

/// Opens a hand-off and queues its run. Every door ends here.
pub fn begin(tx: &mut Tx<'_>, mut on: StoredTask, begin: Begin<'_>) -> Result<Begun> {
    let entry = on
        .task
        .start_handoff(begin.agent_name, begin.from_agent, begin.mode, tx.now)?
        .clone();
    increment::check_round(tx, &on)?;
    routing::release(tx, &mut on)?;
    let trace = begin.trace.as_ref();
    let row = NewHandoff {
        task_number: on.number,
        position: on.task.agent_chain().len(),
        entry: &entry,
        prompt: begin.prompt,
        reason: begin.reason,
        from_number: begin.from_number,
        waiter_number: begin.waiter_number,
        asked_number: begin.asked_number,
        trace_id: trace.map(|trace| &trace.trace_id),
        parent_span_id: trace.map(|trace| &trace.parent_id),
        is_invoked: begin.is_invoked,
        takes_control: begin.takes_control,
        counted_from: begin.counted_from,
        is_chat: begin.is_chat,
    };
    let handoff_number = handoffs::insert(tx, &row)?;
    if begin.is_invoked {
        runs::insert_queued(
            tx,
            &RunId::new(),
            handoff_number,
            entry.started_at,
            begin.resumes,
        )?;
    }
    // The prompt of a transfer is already in the conversation.
    if begin.mode != Door::Transfer {
        message::record_prompt(tx, on.on(), handoff_number)?;
    }
    // Claimed requests follow control. A run that starts a session keeps its own requests.
    if let (Door::Transfer, Some(from_number)) = (begin.mode, begin.from_number) {
        requests::move_to_handoff(tx, from_number, handoff_number)?;
    }
    // So do the messages of a chat.
    if begin.takes_control
        && let Some(from_number) = begin.from_number
        && let Some(from) = handoffs::find_task_number(tx, from_number)?
    {
        task::move_chat(tx, from, &on)?;
    }
    tasks::update_status(tx, on.number, &on.task)?;
    increment::refresh(tx, &on)?;
    let started = EventKind::HandoffStarted {
        agent_name: entry.agent_name,
    };
    history::record(tx, on.on(), Some((&entry.id, handoff_number)), started)?;
    Ok(Begun { on, handoff_number })
}

/// Creates a child task that stands for its parent: it has the description, the plan, the attachments and the workspace of its parent.
/// A delegated one ends with its hand-off.
pub fn create_child(
    tx: &mut Tx<'_>,
    parent: &StoredTask,
    agent_name: &AgentName,
    context: Context,
    needs: Needs,
    is_delegated: bool,
    counted_from: Option<i64>,
) -> Result<StoredTask> {
    let task = &parent.task;
    let new = NewTask {
        id: TaskId::new(),
        description: task.description.clone(),
        parent_id: Some(task.id.clone()),
        session_id: task.session_id.clone(),
        context,
        needs,
        part: None,
        plan: task.share_plan(),
        source: task.source.clone(),
        agent_workspace: task.agent_workspace.clone(),
    };
    let mut child = task::create_counted(tx, &new, counted_from)?;
    if is_delegated {
        tasks::update_delegated(tx, child.number)?;
        child.task.is_delegated = true;
    }
    task::carry_attachments(tx, parent, &mut child)?;
    let created = EventKind::ChildTaskCreated {
        task_id: child.task.id.clone(),
        agent_name: agent_name.clone(),
    };
    history::record(tx, parent.on(), None, created)?;
    Ok(child)
}
