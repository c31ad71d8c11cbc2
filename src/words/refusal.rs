//! Words about refusals.

use std::fmt::Display;

use crate::domain::{ChainLimit, Refusal, RequestMove, RequestState, TaskId};

/// How many items of a list are named.
const NAMED: usize = 10;

/// Explains why nothing was changed, and what to do.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::TaskNotFound(id) => format!("Task not found: {id}"),
        Refusal::AgentNotFound(name) => format!("Agent not found: {name}"),
        Refusal::HandoffNotFound(id) => format!("Hand-off not found: {id}"),
        Refusal::SessionNotFound(id) => format!("Session not found: {id}"),
        Refusal::ToolNotFound(name) => format!("Tool not found: {name}"),
        Refusal::IncrementNotFound(id) => format!("Increment not found: {id}"),
        Refusal::AttachmentNotFound(filename) => format!("Attachment not found: {filename}"),
        Refusal::RequestNotFound(id) => format!("Request not found: {id}"),
        Refusal::AlertNotFound(id) => format!("Alert not found: {id}"),
        Refusal::MailNotFound(id) => format!("Mail not found: {id}"),
        Refusal::UnknownAgent { asked, .. } => format!("Unknown agent: {asked}"),
        Refusal::NoSuchTool { asked, known } if known.is_empty() => {
            format!("Tool not found: {asked}. There are no tools yet")
        }
        Refusal::NoSuchTool { asked, known } => {
            format!("Tool not found: {asked}. The tools are: {}", list(known))
        }
        Refusal::IncrementNotBlocked { id, state } => format!(
            "Increment {id} is {}: only a blocked one can be tried again",
            state.as_str()
        ),
        Refusal::DependencyCycle(tasks) => format!(
            "dependsOn: the tasks would wait for each other: {}",
            cycle(tasks)
        ),
        Refusal::RoundIsOver {
            task_id,
            round,
            current,
        } => format!(
            "Task {task_id} is of round {round} of its increment, which is in round {current}: what came of it stays. `chorus increment show` shows what goes on now"
        ),
        Refusal::PartOfIncrement(id) => format!(
            "Task {id} is a part of an increment: its agent itself says what came out, with `chorus report` or at the end of its last message. To ask another agent, and go on: `chorus handoff`"
        ),
        Refusal::AgentExists(name) => {
            format!("Agent already exists: {name}. Change it, or choose another name")
        }
        Refusal::AgentAlike { name, like } => format!(
            "{name} would be taken for the agent {like}, which is there already; choose another name"
        ),
        Refusal::AgentNeeded {
            name,
            tasks,
            tools,
            kinds,
        } => {
            let needs = [
                relation("it works on task", tasks),
                relation("it is named by the tool", tools),
                relation("it gets requests of kind", kinds),
            ];
            let needs: Vec<_> = needs.into_iter().flatten().collect();
            let needs = needs.join("; ");
            format!("Agent {name} is still needed: {needs}. End or change that first")
        }
        Refusal::AgentUnavailable(name) => {
            format!("Agent not available: {name}. Make it available, or choose another")
        }
        Refusal::AgentActive(name) => format!("Agent already active on task: {name}"),
        Refusal::TokenNeeded => "A token is needed: Authorization: Bearer <token>".to_owned(),
        Refusal::OperatorTokenNeeded => {
            "The operator's token is needed: Authorization: Bearer <the word in operator.token>"
                .to_owned()
        }
        Refusal::OperatorTokenNeededToSend => {
            "The operator's token is needed to send as `operator`: Authorization: Bearer <the word in operator.token>; or name another `from`"
                .to_owned()
        }
        Refusal::SentAsRouter => "from: the router alone sends as `router`".to_owned(),
        Refusal::DecisionByRun(agent) => {
            format!("This run of {agent} may not do what only the operator does")
        }
        Refusal::SetUpByRun(agent) => {
            format!("This run of {agent} may not change how Chorus is set up")
        }
        Refusal::AlertResolvedByRun(agent) => {
            format!("This run of {agent} may not resolve alerts: a person must see them")
        }
        Refusal::ReportWithoutRun => {
            "Only the agent that works on a task reports what came out, with the token of its run. A person sets the status: PUT /api/tasks/ID/status"
                .to_owned()
        }
        Refusal::NotItsOwnName(agent) => {
            format!("this run is {agent}, and hands off only for itself")
        }
        Refusal::NotItsOwnAgent { agent, asked } => {
            format!("This run of {agent} may speak for {agent} alone, not for {asked}")
        }
        Refusal::OutOfReach { agent, own } => {
            format!("This run of {agent} may only change its own task {own} and those below it")
        }
        Refusal::SessionLimitRaised { agent, limit } => format!(
            "A run of {agent} may lower its maxSessionDuration of {limit} minutes, not raise or remove it; a person can"
        ),
        Refusal::NoOpenHandoff { task_id, last } => match last {
            None => format!("No agent is active on task {task_id}: it has never been handed off"),
            Some(agent) => format!(
                "No agent is active on task {task_id}: the last hand-off, to {agent}, has already ended"
            ),
        },
        Refusal::LimitExceeded { what, limit, chain } => format!(
            "The chain {} has reached its limit of {limit} {}; go on without another hand-off, or start a new task",
            join(chain, " → "),
            chain_limit(*what)
        ),
        Refusal::RunEnded => "The run that asks has ended".to_owned(),
        Refusal::AlreadyMoved {
            task_id,
            agent_name,
        } => format!(
            "Control of task {task_id} has already moved to {agent_name}; this call does nothing"
        ),
        Refusal::TaskEnded { task_id, status } => format!(
            "Task {task_id} is {}: it can no longer be handed on",
            status.as_str()
        ),
        Refusal::NotItsOwnTask(id) => format!("A run may only pass on what it has: not task {id}"),
        Refusal::ToolExists(name) => {
            format!("Tool already exists: {name}. Change it, or choose another name")
        }
        Refusal::ToolNotAllowed {
            agent,
            tool,
            allowed,
        } => match allowed {
            None => format!("{agent} may not use {tool}; it is for all agents but its target"),
            Some(allowed) => format!("{agent} may not use {tool}; it is for {}", list(allowed)),
        },
        Refusal::Invalid(problems) => problems.to_string(),
        Refusal::ContextTooLarge { limit } => too_large("context", *limit),
        Refusal::NothingToResume(name) => {
            format!("There is no session of {name} on this task to resume; start without `resume`")
        }
        Refusal::AttachmentExists(filename) => format!(
            "Attachment already exists: {filename}. Delete it first, or choose another filename"
        ),
        Refusal::WrongState {
            id,
            state,
            holder,
            step,
        } => {
            let holder = match holder {
                Some(holder) => format!(" by {holder}"),
                None => String::new(),
            };
            let done = step_not_taken(*step, *state);
            format!(
                "Request {id} is {}{holder}: it cannot be {done}",
                state.as_str()
            )
        }
        Refusal::Withdrawn(id) => format!(
            "Request {id} was withdrawn: its tag was removed from its file. Put the tag back to revive it"
        ),
        Refusal::StaleClaim {
            id,
            state: RequestState::Claimed,
            shown,
            fencing,
        } => format!(
            "Request {id} is no longer yours: it is claimed, and the number of its claim is {fencing}; you show {shown}"
        ),
        Refusal::StaleClaim { id, state, .. } => {
            format!("Request {id} is no longer yours: it is {}", state.as_str())
        }
        Refusal::OperatorOnly => "Only the operator moves a request out of `needs`".to_owned(),
        Refusal::OperatorTokenMissing => {
            "Only the operator moves a request out of `needs`: Authorization: Bearer <the word in operator.token>".to_owned()
        }
        Refusal::NotItsClaim { id, agent } => {
            format!("Request {id} is not claimed by this run of {agent}")
        }
        Refusal::NotAll(refusals) => {
            let refusals: Vec<_> = refusals.iter().map(self::refusal).collect();
            format!("Nothing was approved: {}", refusals.join("; "))
        }
        Refusal::TooMuchAtOnce { limit } => too_large("list of requests", *limit),
        Refusal::AlertResolved { id, by } => {
            format!("Alert {id} has already been resolved by {by}")
        }
        Refusal::NobodyHasRole(role) => format!(
            "Nobody has the role {role}: give it to an agent, or name an agent instead"
        ),
        Refusal::TooManyRecipients { count, limit } => {
            format!("to: {count} would get this mail; at most {limit} may")
        }
        Refusal::NoSuchRecipient {
            id,
            asked,
            recipients,
        } => {
            let recipients = list(recipients);
            match asked {
                Some(asked) => format!(
                    "recipient: {asked} does not get mail {id}; name one of: {recipients}"
                ),
                None => format!("recipient: several get mail {id}; name one of: {recipients}"),
            }
        }
        Refusal::NotItsMail { id, agent } => {
            format!("Mail {id} is not for {agent}: this run may not mark it")
        }
        Refusal::OperatorsMail(id) => format!(
            "Mail {id} is for the operator, whose token is needed to mark it: Authorization: Bearer <the word in operator.token>; or name another `recipient`"
        ),
        Refusal::KeyReused => {
            "This Idempotency-Key was used for a different request; choose another key".to_owned()
        }
    }
}

/// Names a part of a request that is over its limit.
pub fn too_large(what: &str, limit: usize) -> String {
    format!("{what} is too large: the limit is {limit} bytes")
}

const fn chain_limit(limit: ChainLimit) -> &'static str {
    match limit {
        ChainLimit::Depth => "tasks deep",
        ChainLimit::Bounces => "bounces between two agents",
        ChainLimit::Hops => "hand-offs",
    }
}

/// Completes "it cannot be …" for a step that a request's state does not allow.
const fn step_not_taken(step: RequestMove, from: RequestState) -> &'static str {
    match step {
        RequestMove::Claim if matches!(from, RequestState::Needs) => {
            "claimed before the operator approves it"
        }
        RequestMove::Approve => "approved",
        RequestMove::Next => "left to whoever starts next",
        RequestMove::Claim => "claimed",
        RequestMove::Finish => "finished",
        RequestMove::Requeue | RequestMove::Retry => "re-queued",
        RequestMove::Heartbeat => "extended",
    }
}

/// Names the first tasks of a cycle and the last, and counts the others.
fn cycle(tasks: &[TaskId]) -> String {
    let mut names: Vec<_> = tasks.iter().map(TaskId::as_str).collect();
    let more = format!("({} more)", names.len().saturating_sub(NAMED));
    if names.len() > NAMED {
        names.splice(NAMED - 1..names.len() - 1, [more.as_str()]);
    }
    names.join(" → ")
}

/// Names the first items of a list and counts the others; nothing of an empty list.
fn relation(words: &str, items: &[impl Display]) -> Option<String> {
    let (named, others) = items.split_at(items.len().min(NAMED));
    match others.len() {
        0 if named.is_empty() => None,
        0 => Some(format!("{words} {}", list(named))),
        more => Some(format!("{words} {} and {more} more", list(named))),
    }
}

fn list(items: &[impl Display]) -> String {
    join(items, ", ")
}

fn join(items: &[impl Display], separator: &str) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AgentName, RefusalClass, RequestId, ToolName};

    fn agent(name: &str) -> AgentName {
        AgentName::parse(name).unwrap()
    }

    fn task(name: &str) -> TaskId {
        TaskId::parse(name).unwrap()
    }

    fn request(name: &str) -> RequestId {
        name.parse().unwrap()
    }

    fn limit_exceeded(what: ChainLimit) -> Refusal {
        let chain = vec![agent("a"), agent("b")];
        Refusal::LimitExceeded {
            what,
            limit: 4,
            chain,
        }
    }

    #[test]
    fn every_class_of_refusal_names_its_subject() {
        let mut problems = crate::domain::Problems::default();
        problems.add("priority", "must be 0 to 4");
        let unknown = Refusal::UnknownAgent {
            asked: "ada".to_owned(),
            known: vec![agent("developer")],
        };
        let too_many = Refusal::TooManyRecipients {
            count: 60,
            limit: 50,
        };
        let out_of_reach = Refusal::OutOfReach {
            agent: agent("developer"),
            own: task("t-1"),
        };
        for (refused, class, subject) in [
            (
                Refusal::TaskNotFound(task("t-1")),
                RefusalClass::NotFound,
                "t-1",
            ),
            (
                unknown,
                RefusalClass::UnknownAgent {
                    known: &[agent("developer")],
                },
                "ada",
            ),
            (
                Refusal::AgentActive(agent("developer")),
                RefusalClass::Conflict,
                "developer",
            ),
            (too_many, RefusalClass::Invalid, "60"),
            (
                Refusal::Invalid(problems.clone()),
                RefusalClass::InvalidFields(&problems),
                "priority: must be 0 to 4",
            ),
            (
                Refusal::ContextTooLarge { limit: 1024 },
                RefusalClass::TooLarge { limit: 1024 },
                "context",
            ),
            (
                limit_exceeded(ChainLimit::Hops),
                RefusalClass::LimitExceeded {
                    chain: &[agent("a"), agent("b")],
                    limit: 4,
                },
                "a → b",
            ),
            (out_of_reach, RefusalClass::Forbidden, "t-1"),
            (Refusal::RunEnded, RefusalClass::Unauthorized, "The run"),
        ] {
            assert_eq!(refused.class(), class);
            let sentence = refusal(&refused);
            assert!(sentence.contains(subject), "{sentence}");
            assert_eq!(sentence.trim(), sentence, "{refused:?}");
        }
    }

    #[test]
    fn a_sentence_has_what_the_refusal_knows() {
        let no_such_tool = |known: &[&str]| Refusal::NoSuchTool {
            asked: "call_qa".to_owned(),
            known: known
                .iter()
                .map(|name| ToolName::parse(*name).unwrap())
                .collect(),
        };
        let no_open_handoff = |last| Refusal::NoOpenHandoff {
            task_id: task("t-1"),
            last,
        };
        let not_allowed = |allowed| Refusal::ToolNotAllowed {
            agent: agent("qa"),
            tool: ToolName::parse("call_qa").unwrap(),
            allowed,
        };
        let wrong_state = |state, holder, step| Refusal::WrongState {
            id: request("r-1"),
            state,
            holder,
            step,
        };
        let stale = |state| Refusal::StaleClaim {
            id: request("r-1"),
            state,
            shown: 1,
            fencing: 2,
        };
        let no_such_recipient = |asked| Refusal::NoSuchRecipient {
            id: "m-1".parse().unwrap(),
            asked,
            recipients: vec!["ada".parse().unwrap(), "operator".parse().unwrap()],
        };
        let claimed = RequestState::Claimed;
        for (refused, sentence) in [
            (
                no_such_tool(&[]),
                "Tool not found: call_qa. There are no tools yet",
            ),
            (
                no_such_tool(&["a", "b"]),
                "Tool not found: call_qa. The tools are: a, b",
            ),
            (
                no_open_handoff(None),
                "No agent is active on task t-1: it has never been handed off",
            ),
            (
                no_open_handoff(Some(agent("developer"))),
                "No agent is active on task t-1: the last hand-off, to developer, has already ended",
            ),
            (
                limit_exceeded(ChainLimit::Depth),
                "The chain a → b has reached its limit of 4 tasks deep; go on without another hand-off, or start a new task",
            ),
            (
                limit_exceeded(ChainLimit::Bounces),
                "The chain a → b has reached its limit of 4 bounces between two agents; go on without another hand-off, or start a new task",
            ),
            (
                limit_exceeded(ChainLimit::Hops),
                "The chain a → b has reached its limit of 4 hand-offs; go on without another hand-off, or start a new task",
            ),
            (
                not_allowed(None),
                "qa may not use call_qa; it is for all agents but its target",
            ),
            (
                not_allowed(Some(vec![agent("a"), agent("b")])),
                "qa may not use call_qa; it is for a, b",
            ),
            (
                wrong_state(claimed, Some(agent("qa")), RequestMove::Approve),
                "Request r-1 is claimed by qa: it cannot be approved",
            ),
            (
                wrong_state(RequestState::Needs, None, RequestMove::Claim),
                "Request r-1 is needs: it cannot be claimed before the operator approves it",
            ),
            (
                wrong_state(RequestState::Done, None, RequestMove::Claim),
                "Request r-1 is done: it cannot be claimed",
            ),
            (
                stale(claimed),
                "Request r-1 is no longer yours: it is claimed, and the number of its claim is 2; you show 1",
            ),
            (
                stale(RequestState::Done),
                "Request r-1 is no longer yours: it is done",
            ),
            (
                no_such_recipient(None),
                "recipient: several get mail m-1; name one of: ada, operator",
            ),
            (
                no_such_recipient(Some("qa".parse().unwrap())),
                "recipient: qa does not get mail m-1; name one of: ada, operator",
            ),
            (
                Refusal::NotAll(vec![
                    Refusal::RequestNotFound("r-1".to_owned()),
                    Refusal::OperatorOnly,
                ]),
                "Nothing was approved: Request not found: r-1; Only the operator moves a request out of `needs`",
            ),
        ] {
            assert_eq!(refusal(&refused), sentence);
        }
    }

    #[test]
    fn an_agent_is_needed_by_all_that_name_it() {
        let needed = |tasks: u32, tools: &[&str], kinds: &[&str]| {
            refusal(&Refusal::AgentNeeded {
                name: agent("qa"),
                tasks: (1..=tasks)
                    .map(|number| task(&format!("t{number}")))
                    .collect(),
                tools: tools
                    .iter()
                    .map(|name| ToolName::parse(*name).unwrap())
                    .collect(),
                kinds: kinds.iter().map(|kind| kind.parse().unwrap()).collect(),
            })
        };
        assert_eq!(
            needed(0, &["a", "b"], &["fix"]),
            "Agent qa is still needed: it is named by the tool a, b; it gets requests of kind fix. End or change that first"
        );
        assert_eq!(
            needed(12, &[], &[]),
            "Agent qa is still needed: it works on task t1, t2, t3, t4, t5, t6, t7, t8, t9, t10 and 2 more. End or change that first"
        );
    }

    #[test]
    fn a_long_cycle_is_shortened() {
        let tasks = |count: u32| {
            (1..=count)
                .map(|number| task(&format!("t{number}")))
                .collect()
        };
        let told = |count| refusal(&Refusal::DependencyCycle(tasks(count)));
        let whole = "dependsOn: the tasks would wait for each other: t1 → t2 → t3";
        assert_eq!(told(3), whole);
        assert!(told(10).ends_with("t8 → t9 → t10"), "{}", told(10));
        assert!(
            told(12).ends_with("t8 → t9 → (2 more) → t12"),
            "{}",
            told(12)
        );
    }
}
