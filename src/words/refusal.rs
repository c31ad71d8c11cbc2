//! Sentences about refusals.

use std::fmt::Display;

use super::number::{counted, plural};
use crate::domain::{ChainLimit, Refusal, RequestMove, RequestState, Stranger, TaskId};

/// Longer lists are cut after this many items.
const NAMED: usize = 10;

const SEND_OPERATOR_TOKEN: &str =
    "Send the header `Authorization: Bearer <contents of operator.token>`";

const fn token_needed(stranger: Stranger) -> &'static str {
    match stranger {
        Stranger::Anybody => "Token required. Send the header `Authorization: Bearer <token>`",
        Stranger::OtherMachine => {
            "Token required, because the call comes from another machine. Send the header `Authorization: Bearer <token>`"
        }
        Stranger::OtherUser => {
            "Token required, because the call comes from another user than the server's. Send the header `Authorization: Bearer <token>`, or call as the server's user"
        }
        Stranger::UnknownProcess => {
            "Token required, because agents are at work and the calling process cannot be found. Send the header `Authorization: Bearer <token>`"
        }
        Stranger::LostRun => {
            "Token required, because the call comes from a process of a run. Send the header `Authorization: Bearer $CHORUS_TOKEN`"
        }
    }
}

/// Explains why an operation changed nothing, and what to do.
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
        Refusal::MessageNotFound(id) => format!("Queued message not found: {id}"),
        Refusal::MessageDelivered(id) => format!(
            "Message {id} cannot be taken back: an agent has it already. Send another message instead"
        ),
        Refusal::ChatByRun(agent) => format!(
            "A run of {agent} may not speak as a person. Use `chorus handoff`, or `chorus task queue TASK --add TEXT`"
        ),
        Refusal::NoAgentToChatWith(id) => format!(
            "agentName: no agent has worked on task {id} yet; name the agent for the first message"
        ),
        Refusal::NothingToSend => "content: must not be empty, because no message waits".to_owned(),
        Refusal::UnknownAgent { asked, .. } => format!("Unknown agent: {asked}"),
        Refusal::NoSuchTool { asked, known } if known.is_empty() => {
            format!("Tool not found: {asked}. No tools exist yet; create one with `chorus tool create`")
        }
        Refusal::NoSuchTool { asked, known } => {
            format!("Tool not found: {asked}. Choose one of: {}", list(known))
        }
        Refusal::IncrementNotBlocked { id, state } => format!(
            "Increment {id} is {}. Only a blocked increment can be retried; see `chorus increment show {id}`",
            state.as_str()
        ),
        Refusal::DependencyCycle(tasks) => format!(
            "dependsOn: the dependencies would form a cycle: {}. Remove one of them",
            cycle(tasks)
        ),
        Refusal::RoundIsOver {
            task_id,
            round,
            current,
        } => format!(
            "Task {task_id} belongs to round {round}; its increment is in round {current}. Finished rounds cannot be changed. See `chorus increment show`"
        ),
        Refusal::PartOfIncrement(id) => format!(
            "Task {id} is a stage of an increment, so its agent must report the result, with `chorus task report` or in its final message. To continue with another agent, use `chorus handoff`"
        ),
        Refusal::PlannedByStage(id) => format!(
            "Task {id} works on a stage of an increment, whose plan says what the stages are measured by. Leave the plan as it is, and say in your report what should change"
        ),
        Refusal::AgentExists(name) => {
            format!("Agent already exists: {name}. Edit it, or choose another name")
        }
        Refusal::AgentAlike { name, like } => format!(
            "Agent name {name} is too similar to the existing agent {like}. Choose a name that differs in more than case and separators"
        ),
        Refusal::AgentNeeded {
            name,
            tasks,
            tools,
            kinds,
        } => {
            let users = [
                users("task", tasks),
                users("tool", tools),
                users("request kind", kinds),
            ];
            let users: Vec<_> = users.into_iter().flatten().collect();
            let users = users.join("; ");
            format!("Agent {name} is in use by {users}. End or change these first")
        }
        Refusal::AgentUnavailable(name) => format!(
            "Agent not available: {name}. Make it available with `chorus agent edit {name} --available true`, or choose another agent"
        ),
        Refusal::AgentActive(name) => format!("Agent already active on task: {name}"),
        Refusal::TokenNeeded(stranger) => token_needed(*stranger).to_owned(),
        Refusal::OperatorTokenNeeded => format!("Operator token required. {SEND_OPERATOR_TOKEN}"),
        Refusal::OperatorTokenNeededToSend => format!(
            "Operator token required to send mail as `operator`. {SEND_OPERATOR_TOKEN}, or name another `from`"
        ),
        Refusal::SentAsRouter => {
            "from: the name `router` is reserved for the router. Name another sender".to_owned()
        }
        Refusal::DecisionByRun(agent) => format!(
            "Only the operator may do this, not a run of {agent}. Leave the decision to the operator"
        ),
        Refusal::SetUpByRun(agent) => format!(
            "A run of {agent} may not change the configuration of Chorus. Leave the change to the operator"
        ),
        Refusal::AlertResolvedByRun(agent) => format!(
            "A run of {agent} may not resolve alerts, because the operator must see them. Leave the alert open"
        ),
        Refusal::ReportWithoutRun => {
            "Only the agent that works on a task may report its result, with the token of its run. To set the status yourself, use `chorus task status` or PUT /api/tasks/ID/status"
                .to_owned()
        }
        Refusal::NotItsOwnName(agent) => {
            format!("A run of {agent} may hand off a session only as {agent}. Name {agent} as the sender")
        }
        Refusal::NotItsOwnAgent { agent, asked } => {
            format!("A run of {agent} may change only its own agent, {agent}, not {asked}")
        }
        Refusal::WorkspaceOutOfReach { agent, own } => format!(
            "Agent {agent} is masked and may only use its own workspace. Choose {own}, a directory in it, or no agentWorkspace"
        ),
        Refusal::OutOfReach { agent, own } => format!(
            "A run of {agent} may change only its own task {own} and the tasks below it"
        ),
        Refusal::SessionLimitRaised { agent, limit } => format!(
            "A run of {agent} may lower its maxSessionDuration of {}, but not raise or remove it. Leave that to the operator",
            counted(limit.get(), "minute")
        ),
        Refusal::NoOpenHandoff { task_id, last } => match last {
            None => format!(
                "No agent is active on task {task_id}, because it was never handed off. Start a hand-off first"
            ),
            Some(agent) => format!(
                "No agent is active on task {task_id}: its last hand-off, to {agent}, has ended. See `chorus task show {task_id}`"
            ),
        },
        Refusal::LimitExceeded { what, limit, chain } => format!(
            "Chain {} has reached its limit of {}. Continue without another hand-off, or create a new task",
            join(chain, " → "),
            chain_limit(*what, *limit)
        ),
        Refusal::RunEnded => {
            "The run of this token has ended. Start another hand-off to continue".to_owned()
        }
        Refusal::AlreadyMoved {
            task_id,
            agent_name,
        } => format!(
            "Control of task {task_id} has already moved to {agent_name}. This call changed nothing. See `chorus task tree {task_id}`"
        ),
        Refusal::TaskEnded { task_id, status } => format!(
            "Task {task_id} is {}, so a tool cannot hand it off. Create a new task, or set this one to pending first",
            status.as_str()
        ),
        Refusal::NotItsOwnTask(id) => format!(
            "Task {id} does not belong to this run. A run may hand off or report only its own task"
        ),
        Refusal::NotItsSession { agent, own } => match own {
            Some(own) => format!(
                "The run of {agent} may read only its own session: {}. Ask the agent of the other session, or send it mail",
                own.as_str()
            ),
            None => format!(
                "The run of {agent} works on a task without a session, and may read no session. Ask the agent of the session, or send it mail"
            ),
        },
        Refusal::ToolExists(name) => {
            format!("Tool already exists: {name}. Edit it, or choose another name")
        }
        Refusal::ToolNotAllowed {
            agent,
            tool,
            allowed,
        } => match allowed {
            None => format!(
                "Agent {agent} may not call tool {tool}: the target of a tool may not call it"
            ),
            Some(allowed) => format!(
                "Agent {agent} may not call tool {tool}. Allowed agents: {}",
                list(allowed)
            ),
        },
        Refusal::Invalid(problems) => problems.to_string(),
        Refusal::ContextTooLarge { limit } => too_large("context", *limit),
        Refusal::NothingToResume(name) => {
            format!("Agent {name} has no session on this task to resume. Start without `resume`")
        }
        Refusal::UnusableSession(name) => format!(
            "Agent {name}'s last session on this task cannot be resumed: its id is not one that a program makes. Start without `resume`"
        ),
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
            format!(
                "Request {id} cannot be {}: its state is `{}`{holder}. {}",
                participle(*step),
                state.as_str(),
                advice(*step, *state)
            )
        }
        Refusal::Withdrawn(id) => format!(
            "Request {id} was withdrawn, because its tag was removed from its file. Restore the tag to reopen it"
        ),
        Refusal::StaleClaim {
            id,
            state: RequestState::Claimed,
            shown,
            fencing,
        } => format!(
            "Request {id} is no longer yours: its fencing token is {fencing}, not {shown}. Stop working on it"
        ),
        Refusal::StaleClaim { id, state, .. } => format!(
            "Request {id} is no longer yours: its state is `{}`. Stop working on it",
            state.as_str()
        ),
        Refusal::OperatorOnly => {
            "Only the operator may move a request out of `needs`. Wait for the approval".to_owned()
        }
        Refusal::OperatorTokenMissing => format!(
            "Operator token required to move a request out of `needs`. {SEND_OPERATOR_TOKEN}"
        ),
        Refusal::NotItsClaim { id, agent } => {
            format!("Request {id} is not claimed by this run of {agent}. Claim it first")
        }
        Refusal::NotAll(refusals) => {
            let refusals: Vec<_> = refusals.iter().map(self::refusal).collect();
            format!("No request was approved. {}", refusals.join(". "))
        }
        Refusal::TooMuchAtOnce { limit } => too_large("list of requests", *limit),
        Refusal::AlertResolved { id, by } => {
            format!("Alert {id} was already resolved by {by}")
        }
        Refusal::NobodyHasRole(role) => format!(
            "No agent has the role {role}. Give the role to an agent, or address an agent by name"
        ),
        Refusal::TooManyRecipients { count, limit } => format!(
            "to: {} exceed the limit of {limit}. Send several mails",
            counted(*count, "recipient")
        ),
        Refusal::NoSuchRecipient {
            id,
            asked,
            recipients,
        } => {
            let recipients = list(recipients);
            match asked {
                Some(asked) => format!(
                    "recipient: {asked} is not a recipient of mail {id}. Name one of: {recipients}"
                ),
                None => format!(
                    "recipient: mail {id} has several recipients. Name one of: {recipients}"
                ),
            }
        }
        Refusal::NotItsMail { id, agent } => format!(
            "Mail {id} is not addressed to {agent}. A run may mark only the mail of its own agent"
        ),
        Refusal::OperatorsMail(id) => format!(
            "Operator token required to mark mail {id}, which is addressed to the operator. {SEND_OPERATOR_TOKEN}, or name another `recipient`"
        ),
        Refusal::KeyReused => {
            "Idempotency-Key was already used for a different request. Choose another key".to_owned()
        }
    }
}

/// The sentence for a field, a body or an answer that is over its limit.
pub fn too_large(what: &str, limit: usize) -> String {
    let limit = counted(limit, "byte");
    format!("{what} is too large: the limit is {limit}")
}

fn chain_limit(what: ChainLimit, limit: u32) -> String {
    match what {
        ChainLimit::Depth => counted(limit, "nested task"),
        ChainLimit::Bounces => format!("{} between two agents", counted(limit, "bounce")),
        ChainLimit::Hops => counted(limit, "hand-off"),
    }
}

/// Completes "Request … cannot be …".
const fn participle(step: RequestMove) -> &'static str {
    match step {
        RequestMove::Approve => "approved",
        RequestMove::Next => "moved to `next`",
        RequestMove::Claim => "claimed",
        RequestMove::Finish => "finished",
        RequestMove::Requeue | RequestMove::Retry => "re-queued",
        RequestMove::Heartbeat => "renewed",
    }
}

/// The action that allows a refused step, or replaces it.
const fn advice(step: RequestMove, state: RequestState) -> &'static str {
    match (state, step) {
        (RequestState::Needs, _) => "The operator must approve it first",
        (
            RequestState::Delegated | RequestState::Next,
            RequestMove::Approve | RequestMove::Next,
        ) => "It is already approved",
        (RequestState::Delegated | RequestState::Next, _) => "Claim it first",
        (RequestState::Claimed, _) => "Wait until its lease ends, or re-queue it",
        (RequestState::Done, _) => "Create a new request instead",
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

/// Names the first items of a list and counts the others; `None` for an empty list.
fn users(noun: &str, items: &[impl Display]) -> Option<String> {
    let (named, others) = items.split_at(items.len().min(NAMED));
    let nouns = plural(items.len(), noun);
    match others.len() {
        0 if named.is_empty() => None,
        0 => Some(format!("{nouns} {}", list(named))),
        more => Some(format!("{nouns} {} and {more} more", list(named))),
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
    fn a_sentence_names_the_details_of_its_refusal() {
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
                "Tool not found: call_qa. No tools exist yet; create one with `chorus tool create`",
            ),
            (
                no_such_tool(&["a", "b"]),
                "Tool not found: call_qa. Choose one of: a, b",
            ),
            (
                no_open_handoff(None),
                "No agent is active on task t-1, because it was never handed off. Start a hand-off first",
            ),
            (
                no_open_handoff(Some(agent("developer"))),
                "No agent is active on task t-1: its last hand-off, to developer, has ended. See `chorus task show t-1`",
            ),
            (
                limit_exceeded(ChainLimit::Depth),
                "Chain a → b has reached its limit of 4 nested tasks. Continue without another hand-off, or create a new task",
            ),
            (
                limit_exceeded(ChainLimit::Bounces),
                "Chain a → b has reached its limit of 4 bounces between two agents. Continue without another hand-off, or create a new task",
            ),
            (
                limit_exceeded(ChainLimit::Hops),
                "Chain a → b has reached its limit of 4 hand-offs. Continue without another hand-off, or create a new task",
            ),
            (
                not_allowed(None),
                "Agent qa may not call tool call_qa: the target of a tool may not call it",
            ),
            (
                not_allowed(Some(vec![agent("a"), agent("b")])),
                "Agent qa may not call tool call_qa. Allowed agents: a, b",
            ),
            (
                wrong_state(claimed, Some(agent("qa")), RequestMove::Approve),
                "Request r-1 cannot be approved: its state is `claimed` by qa. Wait until its lease ends, or re-queue it",
            ),
            (
                wrong_state(RequestState::Needs, None, RequestMove::Claim),
                "Request r-1 cannot be claimed: its state is `needs`. The operator must approve it first",
            ),
            (
                wrong_state(RequestState::Done, None, RequestMove::Claim),
                "Request r-1 cannot be claimed: its state is `done`. Create a new request instead",
            ),
            (
                stale(claimed),
                "Request r-1 is no longer yours: its fencing token is 2, not 1. Stop working on it",
            ),
            (
                stale(RequestState::Done),
                "Request r-1 is no longer yours: its state is `done`. Stop working on it",
            ),
            (
                no_such_recipient(None),
                "recipient: mail m-1 has several recipients. Name one of: ada, operator",
            ),
            (
                no_such_recipient(Some("qa".parse().unwrap())),
                "recipient: qa is not a recipient of mail m-1. Name one of: ada, operator",
            ),
            (
                Refusal::NotAll(vec![
                    Refusal::RequestNotFound("r-1".to_owned()),
                    Refusal::OperatorOnly,
                ]),
                "No request was approved. Request not found: r-1. Only the operator may move a request out of `needs`. Wait for the approval",
            ),
        ] {
            assert_eq!(refusal(&refused), sentence);
        }
    }

    #[test]
    fn an_agent_in_use_is_shown_with_its_users() {
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
            "Agent qa is in use by tools a, b; request kind fix. End or change these first"
        );
        assert_eq!(
            needed(12, &[], &[]),
            "Agent qa is in use by tasks t1, t2, t3, t4, t5, t6, t7, t8, t9, t10 and 2 more. End or change these first"
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
        let whole =
            "dependsOn: the dependencies would form a cycle: t1 → t2 → t3. Remove one of them";
        assert_eq!(told(3), whole);
        assert!(
            told(10).contains(": t1 → t2 → t3 → t4 → t5 → t6 → t7 → t8 → t9 → t10."),
            "{}",
            told(10)
        );
        assert!(
            told(12).contains("t8 → t9 → (2 more) → t12."),
            "{}",
            told(12)
        );
    }
}
