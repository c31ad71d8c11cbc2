//! Dispatch: the routes from kinds to agents, the order of requests, and the limit of retries.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind::Kind;
use super::request::RequestId;
use super::state::RequestMove;
use super::weight::Priority;
use crate::domain::{AgentName, HandoffId, Outcome, Problems, TaskId, Text, Timestamp};

/// How often a request may be claimed before it is stuck, where a route does not say.
const MAX_ATTEMPTS: u32 = 2;

/// How many routes there may be.
const MOST_ROUTES: usize = 1000;

/// How many seconds lie between two questions after a job, where a route does not say.
const POLL_SECONDS: u32 = 10;

/// How requests of a kind are worked on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RouteMode {
    /// The server runs the agent.
    #[default]
    Agent,
    /// A person takes them, with an agent of their own: the server starts nothing.
    Interactive,
    /// A command starts a job elsewhere, and another one is asked whether it is finished.
    Async,
}

impl RouteMode {
    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Interactive => "interactive",
            Self::Async => "async",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Agent, Self::Interactive, Self::Async]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// Who gets requests of a kind, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a route")]
#[schema(example = json!({
    "kind": "fix", "agent": "developer", "mode": "agent", "rank": 3.0, "batch": false, "retry": true, "maxAttempts": 2,
    "startCommand": null, "pollCommand": null, "pollSeconds": 10
}))]
pub struct Route {
    /// The kind.
    pub kind: Kind,
    /// Who gets them.
    pub agent: AgentName,
    /// How.
    #[serde(default)]
    #[schema(required)]
    pub mode: RouteMode,
    /// Which kinds come first, within one priority: lower ones.
    pub rank: f64,
    /// Whether requests that wait together are given to one agent.
    #[serde(default)]
    #[schema(required)]
    pub batch: bool,
    /// Whether what failed is tried again without a person, while attempts are left.
    #[serde(default)]
    #[schema(required)]
    pub retry: bool,
    /// How often a request may be claimed before it is stuck.
    #[serde(default = "max_attempts")]
    #[schema(required, minimum = 1, maximum = 100)]
    pub max_attempts: u32,
    /// Of an `async` route: the command that starts a job and prints its id on the last line.
    #[serde(default)]
    #[schema(required)]
    pub start_command: Option<Vec<Text>>,
    /// Of an `async` route: the command that tells whether a job is finished. `{job}` stands for its id.
    #[serde(default)]
    #[schema(required)]
    pub poll_command: Option<Vec<Text>>,
    /// How many seconds lie between two questions.
    #[serde(default = "poll_seconds")]
    #[schema(required, minimum = 1, maximum = 86400)]
    pub poll_seconds: u32,
}

const fn max_attempts() -> u32 {
    MAX_ATTEMPTS
}

const fn poll_seconds() -> u32 {
    POLL_SECONDS
}

impl Route {
    /// Finds what is wrong with routes, beside whether their agents are there.
    pub fn check_all(routes: &[Self]) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let mut seen = HashSet::new();
        if routes.len() > MOST_ROUTES {
            problems.add("routes", format!("must not be more than {MOST_ROUTES}"));
        }
        for (place, route) in routes.iter().enumerate() {
            let field = |name: &str| format!("routes[{place}].{name}");
            if !seen.insert(&route.kind) {
                problems.add(
                    field("kind"),
                    format!("{} stands twice; one kind has one route", route.kind),
                );
            }
            if !route.rank.is_finite() {
                problems.add(field("rank"), "must be a number");
            }
            if !(1..=100).contains(&route.max_attempts) {
                problems.add(field("maxAttempts"), "must be 1 to 100");
            }
            if !(1..=86_400).contains(&route.poll_seconds) {
                problems.add(field("pollSeconds"), "must be 1 to 86400");
            }
            for (name, command) in [
                ("startCommand", &route.start_command),
                ("pollCommand", &route.poll_command),
            ] {
                let is_async = route.mode == RouteMode::Async;
                match command {
                    None if is_async => problems.add(
                        field(name),
                        "an async route needs it: the program and its arguments as a list",
                    ),
                    Some(_) if !is_async => problems.add(field(name), "only an async route has it"),
                    Some(words) if words.first().is_none_or(Text::is_blank) => {
                        problems.add(field(name), "must begin with a program");
                    }
                    _ => {}
                }
            }
            if route.batch && route.mode != RouteMode::Agent {
                problems.add(field("batch"), "only a route of mode `agent` has batches");
            }
        }
        problems.none_or(|| ())
    }
}

/// What becomes of a request whose claim came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterFailure {
    /// Where it goes.
    pub step: RequestMove,
    /// Whether it has failed as often as it may.
    pub stuck: bool,
}

impl AfterFailure {
    /// Decides. What a person stopped is not tried again without one.
    pub fn decide(route: Option<&Route>, attempts: u32, outcome: Option<Outcome>) -> Self {
        let limit = route.map_or(MAX_ATTEMPTS, |route| route.max_attempts);
        let is_over = attempts >= limit;
        let by_person = outcome == Some(Outcome::Cancelled);
        let again = route.is_some_and(|route| route.retry) && !is_over && !by_person;
        Self {
            step: if again {
                RequestMove::Retry
            } else {
                RequestMove::Requeue
            },
            stuck: is_over && !by_person,
        }
    }
}

/// What the dispatcher does now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchOverview {
    /// Whether approved requests are started.
    pub enabled: bool,
    /// How many agents work at the same time at most.
    pub max_runs: u32,
    /// How many seconds it waits after the last approval.
    pub debounce_seconds: f64,
    /// What is worked on, oldest first.
    pub running: Vec<DispatchedRequest>,
    /// What is approved and waits, in the order in which it will be started; at most 100.
    pub waiting: Vec<WaitingRequest>,
    /// Kinds of which requests wait that nobody will start, and why.
    pub held: Vec<HeldKind>,
    /// Requests that have failed as often as they may, oldest first; at most 100.
    pub stuck: Vec<WaitingRequest>,
}

/// A request that somebody works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchedRequest {
    /// Which.
    pub id: RequestId,
    /// What is to be done.
    #[schema(value_type = String)]
    pub title: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// Who works on it; null if a file says that somebody does.
    #[schema(required)]
    pub agent: Option<AgentName>,
    /// Since when.
    pub since: Timestamp,
    /// The task.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The hand-off, if the dispatcher began one.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// `queued`, `running`, or `job` for one that runs elsewhere; null if the server does not run it.
    #[schema(required)]
    pub run: Option<String>,
    /// Where it works.
    #[schema(required, value_type = Option<String>)]
    pub workspace: Option<Text>,
    /// What the command of an asynchronous route calls the job.
    #[schema(required, value_type = Option<String>)]
    pub job_id: Option<Text>,
    /// How often it was claimed.
    pub attempts: u32,
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    /// Which.
    pub id: RequestId,
    /// What is to be done.
    #[schema(value_type = String)]
    pub title: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// Since when.
    pub since: Timestamp,
    /// How often it was claimed.
    pub attempts: u32,
}

/// A kind of which requests wait that nobody will start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldKind {
    /// The kind.
    pub kind: Kind,
    /// How many wait.
    pub count: u64,
    /// Why, and what to do.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(retry: bool, max_attempts: u32) -> Route {
        Route {
            kind: "fix".parse().unwrap(),
            agent: "developer".parse().unwrap(),
            mode: RouteMode::Agent,
            rank: 3.0,
            batch: false,
            retry,
            max_attempts,
            start_command: None,
            poll_command: None,
            poll_seconds: 10,
        }
    }

    #[test]
    fn what_fails_is_tried_again_while_attempts_are_left_then_it_is_stuck() {
        let failed = Some(Outcome::Failed);
        let decide =
            |route: Option<&Route>, attempts| AfterFailure::decide(route, attempts, failed);
        let (again, once) = (route(true, 3), route(false, 3));
        let after = |step, stuck| AfterFailure { step, stuck };
        assert_eq!(decide(Some(&again), 1), after(RequestMove::Retry, false));
        assert_eq!(decide(Some(&again), 2), after(RequestMove::Retry, false));
        assert_eq!(decide(Some(&again), 3), after(RequestMove::Requeue, true));
        assert_eq!(decide(Some(&again), 7), after(RequestMove::Requeue, true));
        assert_eq!(decide(Some(&once), 1), after(RequestMove::Requeue, false));
        assert_eq!(decide(Some(&once), 3), after(RequestMove::Requeue, true));
        assert_eq!(decide(None, 1), after(RequestMove::Requeue, false));
        assert_eq!(decide(None, 2), after(RequestMove::Requeue, true));
    }

    #[test]
    fn what_a_person_stopped_waits_for_a_person() {
        let route = route(true, 3);
        for attempts in 1..5 {
            let after = AfterFailure::decide(Some(&route), attempts, Some(Outcome::Cancelled));
            assert_eq!(after.step, RequestMove::Requeue);
            assert!(!after.stuck);
        }
    }

    #[test]
    fn everything_that_is_wrong_with_routes_is_said_at_once() {
        let text = |word: &str| word.parse::<Text>().unwrap();
        let wrong = [
            Route {
                max_attempts: 0,
                poll_seconds: 0,
                rank: f64::NAN,
                ..route(false, 1)
            },
            Route {
                mode: RouteMode::Async,
                batch: true,
                poll_command: Some(vec![text(" ")]),
                ..route(false, 1)
            },
            Route {
                kind: "loop".parse().unwrap(),
                start_command: Some(vec![text("x")]),
                ..route(false, 1)
            },
        ];
        let problems = Route::check_all(&wrong).unwrap_err();
        let fields: Vec<_> = problems
            .0
            .iter()
            .map(|problem| problem.field.as_str())
            .collect();
        assert_eq!(
            fields,
            [
                "routes[0].rank",
                "routes[0].maxAttempts",
                "routes[0].pollSeconds",
                "routes[1].kind",
                "routes[1].startCommand",
                "routes[1].pollCommand",
                "routes[1].batch",
                "routes[2].startCommand",
            ]
        );
        assert_eq!(Route::check_all(&[route(true, 1)]), Ok(()));
    }
}
