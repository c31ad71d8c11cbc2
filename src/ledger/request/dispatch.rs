//! Dispatching requests to the agent of their kind.

use std::collections::HashSet;

use crate::domain::{
    Actor, Context, Door, Due, KindMode, KindRule, Needs, NewTask, Request, RequestId, RequestMove,
    RequestState, Source, Task, TaskId, TaskPlan, Text,
};
use crate::ledger::handoff::{self, Begin};
use crate::ledger::{agent, task};
use crate::store::tables::dispatch_routes;
use crate::store::tables::requests::{self, StoredRequest};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, Tx, View};

use super::claim::{add_millis, assign};
use super::find::load;
use super::transition::{check_step, transition};

/// Requests to start together; several of one kind form a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    pub ids: Vec<RequestId>,
    pub prompt: Text,
    /// The description of a new task.
    pub description: Text,
    /// The id and the working directory of a new task.
    pub new_task: (TaskId, Text),
    /// The lease of the claim, which only matters if the server dies.
    pub lease_millis: i64,
}

/// Lists the requests to start next, most urgent first.
pub fn next_to_dispatch(view: &View<'_>, limit: u32) -> Result<Vec<Request>> {
    requests::next(view, limit)
}

/// Finds the next times at which the dispatcher has work.
pub fn due(view: &View<'_>) -> Result<Due> {
    requests::due(view)
}

/// Claims requests and hands off their task, new or from an earlier attempt, to the agent of their kind. Returns `None` if one
/// of the requests was claimed by somebody else.
pub fn dispatch(tx: &mut Tx<'_>, dispatch: &Dispatch) -> Result<Option<Task>> {
    let Some((mut stored, rule)) = check(tx, dispatch)? else {
        return Ok(None);
    };
    let agent_name = agent::resolve(tx, rule.agent.as_str())?;
    let on = match find_task_to_continue(tx, &stored)? {
        Some(on) => on,
        None => create_task(tx, dispatch, &stored)?,
    };
    let until = add_millis(tx.now, dispatch.lease_millis);
    for request in &mut stored {
        assign(request, agent_name.clone(), until);
        request.is_job = rule.mode == KindMode::Async;
        request.request.task_id = Some(on.task.id.clone());
        request.task_number = Some(on.number);
    }
    let next = Begin::new(Door::Request, agent_name, dispatch.prompt.as_str());
    let begun = handoff::begin(tx, on, next)?;
    let entry = begun.on.task.agent_chain().last();
    let handoff_id = entry.map(|entry| entry.id.clone());
    for request in &mut stored {
        request.request.handoff_id.clone_from(&handoff_id);
        request.handoff_number = Some(begun.handoff_number);
        transition(tx, request, RequestState::Claimed, &Actor::Dispatcher, None)?;
    }
    Ok(Some(begun.on.task))
}

/// Loads the requests and their kind rule, if the dispatcher may start all of them.
fn check(view: &View<'_>, dispatch: &Dispatch) -> Result<Option<(Vec<StoredRequest>, KindRule)>> {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    for id in dispatch.ids.iter().filter(|id| seen.insert(*id)) {
        let stored = load(view, id)?;
        let request = &stored.request;
        if request.state != RequestState::Delegated
            || check_step(request, RequestMove::Claim).is_err()
        {
            return Ok(None);
        }
        all.push(stored);
    }
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let rule = dispatch_routes::find(view, &first.request.kind)?;
    let rule = rule.filter(|rule| rule.mode != KindMode::Interactive);
    Ok(rule.map(|rule| (all, rule)))
}

/// Finds the open task of an earlier attempt at exactly these requests.
fn find_task_to_continue(view: &View<'_>, stored: &[StoredRequest]) -> Result<Option<StoredTask>> {
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
    if requests::count_of_task(view, *number)? != stored.len()
        || stored
            .iter()
            .any(|other| other.task_number != Some(*number))
    {
        return Ok(None);
    }
    let on = task::load(view, id)?;
    let is_free = on.task.current_agent().is_none() && !on.task.status.is_ended();
    Ok(is_free.then_some(on))
}

fn create_task(
    tx: &mut Tx<'_>,
    dispatch: &Dispatch,
    stored: &[StoredRequest],
) -> Result<StoredTask> {
    let (id, agent_workspace) = dispatch.new_task.clone();
    let first = stored.first().map(|first| &first.request);
    let origin = find_origin(tx, stored)?;
    let said = origin.as_ref().map(|origin| &origin.task);
    let new = NewTask {
        id,
        description: dispatch.description.clone(),
        parent_id: None,
        session_id: None,
        context: said.map_or_else(Context::default, |task| task.context.without_metadata()),
        needs: Needs::default(),
        part: None,
        // The request is other work: planning its task must not change the plan that it comes from.
        plan: TaskPlan {
            planning: said.and_then(|task| task.plan.planning.clone()),
            shared: None,
        },
        source: Source {
            source_type: Text::lossy("request".to_owned()),
            user_id: Text::lossy(Actor::Dispatcher.name().to_owned()),
            conversation_id: first.map(|first| Text::lossy(first.id.to_string())),
        },
        agent_workspace,
    };
    let mut created = task::create(tx, &new)?;
    if let Some(origin) = &origin {
        task::carry_attachments(tx, origin, &mut created)?;
    }
    Ok(created)
}

/// Finds the task whose agent left the requests behind, if they all come from one task.
fn find_origin(view: &View<'_>, stored: &[StoredRequest]) -> Result<Option<StoredTask>> {
    let mut origins = stored.iter().map(|one| one.request.source.task_id.as_ref());
    match origins.next() {
        Some(Some(id)) if origins.all(|other| other == Some(id)) => tasks::find(view, id),
        _ => Ok(None),
    }
}
