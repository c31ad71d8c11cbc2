//! Rights: the operations that each caller may perform. Each function checks one right, and refuses a caller without it.
//!
//! A run acts for its agent, on its own task and the tasks below it. The operator and a person at this machine act on every
//! task; only the operator changes the configuration and makes decisions. An unknown caller has no rights.

use std::path::Path;

use crate::domain::{
    Actor, Agent, AgentName, Caller, Correspondent, Isolation, MailId, Refusal, Request,
    RequestState, RunIdentity, SessionId, Task, TaskId, Text,
};
use crate::ledger::handoff::CallingRun;
use crate::store::tables::sessions::{self, SessionHolder};
use crate::store::tables::{runs, tasks};
use crate::store::{Result, View};

type Allowed<T = ()> = std::result::Result<T, Refusal>;

/// Refuses unknown callers; they may only read the open pages.
pub fn may_use_api(caller: &Caller) -> Allowed {
    run_of(caller).map(drop)
}

/// Returns the calling run, whose rights are limited, or `None` for the operator and a person.
fn run_of(caller: &Caller) -> Allowed<Option<&RunIdentity>> {
    match caller {
        Caller::Operator | Caller::Person => Ok(None),
        Caller::Run(run) => Ok(Some(run)),
        Caller::Unknown(stranger) => Err(Refusal::TokenNeeded(*stranger)),
    }
}

/// Refuses everybody but the operator. The refusal of a run says why; anybody else may turn out to be the operator.
fn operator_only(caller: &Caller, refuse_run: impl FnOnce(AgentName) -> Refusal) -> Allowed {
    match caller {
        Caller::Operator => Ok(()),
        Caller::Run(run) => Err(refuse_run(run.agent_name.clone())),
        Caller::Person | Caller::Unknown(_) => Err(Refusal::OperatorTokenNeeded),
    }
}

/// Refuses everybody but the operator: an agent is a program that the server runs, so its configuration is worth a shell.
pub fn may_set_up(caller: &Caller) -> Allowed {
    operator_only(caller, Refusal::SetUpByRun)
}

/// Refuses everybody but the operator: approving requests, setting kind rules and retrying increments are decisions for people.
pub fn may_decide(caller: &Caller) -> Allowed {
    operator_only(caller, Refusal::DecisionByRun)
}

/// Refuses a run, which may not speak as a person.
pub fn may_chat(caller: &Caller) -> Allowed {
    match run_of(caller)? {
        Some(run) => Err(Refusal::ChatByRun(run.agent_name.clone())),
        None => Ok(()),
    }
}

/// Refuses an actor that may not move a request out of `needs`.
pub fn may_approve(by: &Actor) -> Allowed {
    if by.may_approve() {
        Ok(())
    } else {
        Err(Refusal::OperatorOnly)
    }
}

/// Turns the refusal of a person, who may be the operator, into a request for the operator token.
pub fn ask_for_token(caller: &Caller, refusal: Refusal) -> Refusal {
    match (caller, refusal) {
        (Caller::Person | Caller::Unknown(_), Refusal::OperatorOnly) => {
            Refusal::OperatorTokenMissing
        }
        (_, refusal) => refusal,
    }
}

/// Refuses a run that renews or ends the claim of another run.
pub fn may_speak_of_claim(by: &Actor, request: &Request) -> Allowed {
    let holder = request.lease.as_ref().map(|lease| &lease.agent);
    match by {
        Actor::Run(run)
            if request.state == RequestState::Claimed
                && !by.may_end_claim(holder, request.handoff_id.as_ref()) =>
        {
            Err(Refusal::NotItsClaim {
                id: request.id.clone(),
                agent: run.agent_name.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// Refuses everybody but the operator, because an alert must be seen.
pub fn may_resolve_alert(caller: &Caller) -> Allowed {
    operator_only(caller, Refusal::AlertResolvedByRun)
}

/// Refuses a run that changes a task outside the tree of its own task.
pub fn may_change_task(view: &View<'_>, caller: &Caller, task_id: &TaskId) -> Result<()> {
    let Some(run) = run_of(caller)? else {
        return Ok(());
    };
    if tasks::is_below(view, task_id, &run.task_id)? {
        return Ok(());
    }
    if tasks::find_number(view, task_id)?.is_none() {
        return Err(Refusal::TaskNotFound(task_id.clone()).into());
    }
    Err(Refusal::OutOfReach {
        agent: run.agent_name.clone(),
        own: run.task_id.clone(),
    }
    .into())
}

/// Refuses a run that plans a task which is neither in the tree of its own task nor the holder of its own task's plan. Refuses runs of
/// a stage and its helpers: the plan of an increment says what its stages are measured by.
pub fn may_plan(view: &View<'_>, caller: &Caller, task_id: &TaskId) -> Result<()> {
    let Some(run) = run_of(caller)? else {
        return Ok(());
    };
    let Some(holder) = tasks::find_plan_holder(view, task_id)? else {
        return Err(Refusal::TaskNotFound(task_id.clone()).into());
    };
    let is_own_holder = *task_id == holder
        && tasks::find_plan_holder(view, &run.task_id)?.as_ref() == Some(task_id);
    if !is_own_holder {
        may_change_task(view, caller, task_id)?;
    }
    if tasks::is_below_stage_of(view, &run.task_id, &holder)? {
        return Err(Refusal::PlannedByStage(run.task_id.clone()).into());
    }
    Ok(())
}

/// Refuses a masked run that chooses a workspace outside that of its own task: the mask of a later run would show it. `hidden` contains
/// the default workspaces, which a workspace that contains the data directory does not show.
pub fn may_work_in(
    view: &View<'_>,
    run: &RunIdentity,
    workspace: &Text,
    hidden: &Path,
) -> Result<()> {
    if runs::find_isolation(view, &run.run_id)? != Some(Isolation::Masked) {
        return Ok(());
    }
    let own = tasks::find(view, &run.task_id)?;
    let own = own.map(|own| own.task.agent_workspace).unwrap_or_default();
    let (inner, outer) = (Path::new(workspace.as_str()), Path::new(own.as_str()));
    let is_hidden = inner.starts_with(hidden) && !outer.starts_with(hidden);
    if outer.is_absolute() && inner.starts_with(outer) && !is_hidden {
        return Ok(());
    }
    Err(Refusal::WorkspaceOutOfReach {
        agent: run.agent_name.clone(),
        own,
    }
    .into())
}

/// Refuses a run that sets the status of a stage, because its report decides the status.
pub fn may_set_status(caller: &Caller, task: &Task) -> Allowed {
    match (run_of(caller)?, &task.part) {
        (Some(_), Some(_)) => Err(Refusal::PartOfIncrement(task.id.clone())),
        _ => Ok(()),
    }
}

/// Refuses a run that changes more of a stage than its context and its instructions.
pub fn may_change_needs(caller: &Caller, task: &Task, changed: &[&str]) -> Allowed {
    let is_context = |key: &&str| matches!(*key, "agentContext" | "handoffInstructions");
    if changed.iter().all(is_context) {
        run_of(caller).map(drop)
    } else {
        may_set_status(caller, task)
    }
}

/// Refuses reports from callers other than runs.
pub fn may_report(caller: &Caller) -> Allowed<&RunIdentity> {
    run_of(caller)?.ok_or(Refusal::ReportWithoutRun)
}

/// Refuses the report of a run that is not active on the task.
pub fn may_report_on(run: &RunIdentity, task: &Task) -> Allowed {
    if task.is_worked_on_by(&run.handoff_id) {
        Ok(())
    } else {
        Err(Refusal::NotItsOwnTask(task.id.clone()))
    }
}

/// Refuses a run that passes on control of a task other than its own.
pub fn may_pass_on(caller: &Caller, task_id: &TaskId) -> Allowed {
    match run_of(caller)? {
        Some(run) if run.task_id != *task_id => Err(Refusal::NotItsOwnTask(task_id.clone())),
        _ => Ok(()),
    }
}

/// Refuses a run that moves a session in the name of another agent.
pub fn may_move_session_as(caller: &Caller, agent: &AgentName) -> Allowed {
    match run_of(caller)? {
        Some(run) if run.agent_name != *agent => {
            Err(Refusal::NotItsOwnName(run.agent_name.clone()))
        }
        _ => Ok(()),
    }
}

/// Refuses a run that moves a session that it neither holds nor has below its task.
pub fn may_move_session(
    view: &View<'_>,
    run: &CallingRun<'_>,
    holder: &SessionHolder,
) -> Result<()> {
    let has_it = run.number == holder.handoff_number;
    if has_it || tasks::is_below(view, &holder.task_id, &run.identity.task_id)? {
        return Ok(());
    }
    Err(Refusal::NotItsOwnTask(holder.task_id.clone()).into())
}

/// Refuses a run that reads a session which is neither that of its own task nor below its task. An unknown session shows nothing.
pub fn may_read_session(view: &View<'_>, caller: &Caller, id: &SessionId) -> Result<()> {
    let Some(run) = run_of(caller)? else {
        return Ok(());
    };
    let own = tasks::find_session_id(view, &run.task_id)?;
    if own.as_ref().is_some_and(|own| own.as_str() == id.as_str()) {
        return Ok(());
    }
    match sessions::find_task_id(view, id)? {
        Some(task_id) if !tasks::is_below(view, &task_id, &run.task_id)? => {
            let agent = run.agent_name.clone();
            Err(Refusal::NotItsSession { agent, own }.into())
        }
        _ => Ok(()),
    }
}

/// Returns the task with the only sessions that the caller may read, or `None` if the caller may read all.
pub fn task_of_readable_sessions(caller: &Caller) -> Allowed<Option<&TaskId>> {
    Ok(run_of(caller)?.map(|run| &run.task_id))
}

/// Refuses everybody but the operator and a run of the agent.
pub fn may_speak_for(caller: &Caller, agent: &AgentName) -> Allowed {
    match caller.run() {
        Some(run) if run.agent_name.eq_ignore_case(agent) => Ok(()),
        _ => operator_only(caller, |own| Refusal::NotItsOwnAgent {
            agent: own,
            asked: agent.clone(),
        }),
    }
}

/// Refuses a run that raises the session limit of its agent.
pub fn may_change_capabilities(caller: &Caller, before: &Agent, after: &Agent) -> Allowed {
    match run_of(caller)? {
        Some(_) => before.check_own_change(after),
        None => Ok(()),
    }
}

/// Refuses reserved sender names. A run always sends as its agent.
pub fn may_send_as(caller: &Caller, name: &str) -> Allowed {
    run_of(caller)?;
    if name.eq_ignore_ascii_case(Correspondent::ROUTER) {
        return Err(Refusal::SentAsRouter);
    }
    if name.eq_ignore_ascii_case(Correspondent::OPERATOR) && *caller != Caller::Operator {
        return Err(Refusal::OperatorTokenNeededToSend);
    }
    Ok(())
}

/// Refuses to mark a mail for another recipient: a run marks for its own agent, and only the operator marks for the operator.
pub fn may_mark_mail(caller: &Caller, id: &MailId, recipient: Option<&Correspondent>) -> Allowed {
    let is = |name: &str| recipient.is_some_and(|recipient| recipient.is_named(name));
    match run_of(caller)? {
        Some(run) if is(run.agent_name.as_str()) => Ok(()),
        Some(run) => Err(Refusal::NotItsMail {
            id: id.clone(),
            agent: run.agent_name.clone(),
        }),
        None if is(Correspondent::OPERATOR) && *caller != Caller::Operator => {
            Err(Refusal::OperatorsMail(id.clone()))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{
        AgentChange, Context, HandoffId, IncrementId, IncrementPart, Needs, NewTask, RunId, Source,
        Stage, Stranger, TaskPlan, Text, Timestamp,
    };

    type Right<'a> = Box<dyn Fn(&Caller) -> Allowed + 'a>;

    fn run() -> RunIdentity {
        RunIdentity {
            run_id: RunId::new(),
            handoff_id: HandoffId::new(),
            task_id: TaskId::new(),
            agent_name: "qa".parse().unwrap(),
        }
    }

    fn agent(minutes: Option<u32>) -> Agent {
        let change: AgentChange =
            serde_json::from_value(json!({ "maxSessionDuration": minutes })).unwrap();
        change.into_new("qa".parse().unwrap())
    }

    fn outcome(allowed: Allowed) -> &'static str {
        allowed.map_or_else(|refusal| crate::Error::from(refusal).code(), |()| "ok")
    }

    #[test]
    fn each_kind_of_caller_has_its_rights() {
        const OK: &str = "ok";
        const FORBIDDEN: &str = "FORBIDDEN";
        const TOKEN: &str = "UNAUTHORIZED";
        let run = run();
        let (own_task, other_task) = (run.task_id.clone(), TaskId::new());
        let callers = [
            Caller::Operator,
            Caller::Person,
            Caller::Run(run),
            Caller::Unknown(Stranger::OtherUser),
        ];
        let name = |name: &str| name.parse::<AgentName>().unwrap();
        let to = |name: &str| name.parse::<Correspondent>().unwrap();
        let mail = MailId::new();
        let table: Vec<(&str, Right<'_>, [&str; 4])> = vec![
            ("ask", Box::new(may_use_api), [OK, OK, OK, TOKEN]),
            (
                "set up",
                Box::new(may_set_up),
                [OK, TOKEN, FORBIDDEN, TOKEN],
            ),
            (
                "decide",
                Box::new(may_decide),
                [OK, TOKEN, FORBIDDEN, TOKEN],
            ),
            (
                "approve",
                Box::new(|caller| {
                    may_approve(&Actor::from(caller))
                        .map_err(|refused| ask_for_token(caller, refused))
                }),
                [OK, TOKEN, FORBIDDEN, TOKEN],
            ),
            (
                "resolve an alert",
                Box::new(may_resolve_alert),
                [OK, TOKEN, FORBIDDEN, TOKEN],
            ),
            (
                "report",
                Box::new(|caller| may_report(caller).map(drop)),
                [FORBIDDEN, FORBIDDEN, OK, TOKEN],
            ),
            (
                "pass on its own task",
                Box::new(|caller| may_pass_on(caller, &own_task)),
                [OK, OK, OK, TOKEN],
            ),
            (
                "pass on another task",
                Box::new(|caller| may_pass_on(caller, &other_task)),
                [OK, OK, FORBIDDEN, TOKEN],
            ),
            (
                "move a session as its agent",
                Box::new(|caller| may_move_session_as(caller, &name("qa"))),
                [OK, OK, OK, TOKEN],
            ),
            (
                "move a session as another agent",
                Box::new(|caller| may_move_session_as(caller, &name("planner"))),
                [OK, OK, FORBIDDEN, TOKEN],
            ),
            (
                "speak for its agent",
                Box::new(|caller| may_speak_for(caller, &name("QA"))),
                [OK, TOKEN, OK, TOKEN],
            ),
            (
                "speak for another agent",
                Box::new(|caller| may_speak_for(caller, &name("planner"))),
                [OK, TOKEN, FORBIDDEN, TOKEN],
            ),
            (
                "lower a session limit",
                Box::new(|caller| {
                    may_change_capabilities(caller, &agent(Some(10)), &agent(Some(9)))
                }),
                [OK, OK, OK, TOKEN],
            ),
            (
                "remove a session limit",
                Box::new(|caller| may_change_capabilities(caller, &agent(Some(10)), &agent(None))),
                [OK, OK, FORBIDDEN, TOKEN],
            ),
            (
                "send as an agent",
                Box::new(|caller| may_send_as(caller, "planner")),
                [OK, OK, OK, TOKEN],
            ),
            (
                "send as the operator",
                Box::new(|caller| may_send_as(caller, "Operator")),
                [OK, TOKEN, TOKEN, TOKEN],
            ),
            (
                "send as the router",
                Box::new(|caller| may_send_as(caller, "router")),
                [FORBIDDEN, FORBIDDEN, FORBIDDEN, TOKEN],
            ),
            (
                "mark mail to its agent",
                Box::new(|caller| may_mark_mail(caller, &mail, Some(&to("qa")))),
                [OK, OK, OK, TOKEN],
            ),
            (
                "mark mail to another agent",
                Box::new(|caller| may_mark_mail(caller, &mail, Some(&to("planner")))),
                [OK, OK, FORBIDDEN, TOKEN],
            ),
            (
                "mark mail to the operator",
                Box::new(|caller| may_mark_mail(caller, &mail, Some(&to("operator")))),
                [OK, TOKEN, FORBIDDEN, TOKEN],
            ),
        ];
        for (right, check, expected) in table {
            let found = callers.each_ref().map(|caller| outcome(check(caller)));
            assert_eq!(found, expected, "{right}");
        }
    }

    /// A task without hand-offs.
    fn task(part: Option<IncrementPart>) -> Task {
        let new = NewTask {
            plan: TaskPlan::default(),
            id: TaskId::new(),
            description: Text::default(),
            parent_id: None,
            session_id: None,
            context: Context::default(),
            needs: Needs::default(),
            part,
            source: Source::default(),
            agent_workspace: Text::default(),
        };
        Task::new(new, Timestamp::from_millis(0))
    }

    #[test]
    fn a_run_changes_only_the_context_of_a_stage_and_reports_on_its_own_task() {
        let stage = task(Some(IncrementPart {
            increment_id: IncrementId::new(),
            stage: Stage::Test,
            round: 1,
        }));
        let agent = Caller::Run(run());
        let refused = Err(Refusal::PartOfIncrement(stage.id.clone()));
        for (caller, task, expected) in [
            (&agent, &stage, refused),
            (&agent, &task(None), Ok(())),
            (&Caller::Person, &stage, Ok(())),
            (&Caller::Operator, &stage, Ok(())),
            (
                &Caller::Unknown(Stranger::Anybody),
                &stage,
                Err(Refusal::TokenNeeded(Stranger::Anybody)),
            ),
        ] {
            assert_eq!(may_set_status(caller, task), expected, "{caller:?}");
            let mixed = may_change_needs(caller, task, &["agentContext", "priority"]);
            assert_eq!(mixed, expected, "{caller:?}");
        }
        assert_eq!(may_change_needs(&agent, &stage, &["agentContext"]), Ok(()));
        assert_eq!(
            may_report_on(&run(), &stage),
            Err(Refusal::NotItsOwnTask(stage.id.clone()))
        );
    }
}
