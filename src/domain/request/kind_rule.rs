//! Kind rules: the agent for requests of a kind, and how it works on them. Users know them as routes.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind::Kind;
use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{AgentName, Problems, Text};

/// The default for `maxAttempts`, also for kinds without a rule.
pub(super) const MAX_ATTEMPTS: u32 = 2;

const MOST_RULES: usize = 1000;

const POLL_SECONDS: u32 = 10;

wire_enum! {
    /// How requests of a kind are worked on.
    #[derive(Default)]
    #[schema(as = RouteMode)]
    pub enum KindMode {
        /// The server runs the agent.
        #[default]
        Agent = "agent",
        /// People work on the requests with agents of their own; the server starts nothing.
        Interactive = "interactive",
        /// One command starts an external job, and another command polls it.
        Async = "async",
    }
}

/// The agent for requests of a kind, and how it works on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a route")]
#[schema(as = Route, example = json!({
    "kind": "fix", "agent": "developer", "mode": "agent", "rank": 3.0, "batch": false, "retry": true, "maxAttempts": 2,
    "startCommand": null, "pollCommand": null, "pollSeconds": 10
}))]
pub struct KindRule {
    /// The kind of requests.
    pub kind: Kind,
    /// The agent that gets the requests.
    pub agent: AgentName,
    /// How the requests are worked on.
    #[serde(default)]
    #[schema(required)]
    pub mode: KindMode,
    /// The order of kinds within a priority, lowest first.
    pub rank: f64,
    /// Whether one agent run gets all waiting requests of this kind together.
    #[serde(default)]
    #[schema(required)]
    pub batch: bool,
    /// Whether a failed request is dispatched again without approval while attempts remain.
    #[serde(default)]
    #[schema(required)]
    pub retry: bool,
    /// The number of claims after which a failed request is stuck.
    #[serde(default = "max_attempts")]
    #[schema(required, minimum = 1, maximum = 100)]
    pub max_attempts: u32,
    /// The command that starts a job and prints its id on the last line. Only for mode `async`.
    #[serde(default)]
    #[schema(required, min_items = 1)]
    pub start_command: Option<Vec<Text>>,
    /// The command that checks whether a job has finished; `{job}` is replaced by its id. Only for mode `async`.
    #[serde(default)]
    #[schema(required, min_items = 1)]
    pub poll_command: Option<Vec<Text>>,
    /// The seconds between two polls of a job.
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

impl KindRule {
    /// Validates all rules. The caller checks that their agents exist.
    pub fn check_all(rules: &[Self]) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let mut seen = HashSet::new();
        if rules.len() > MOST_RULES {
            problems.add("routes", format!("must have at most {MOST_RULES} entries"));
        }
        for (place, rule) in rules.iter().enumerate() {
            let field = |name: &str| format!("routes[{place}].{name}");
            if !seen.insert(&rule.kind) {
                problems.add(
                    field("kind"),
                    format!("{} is listed twice; a kind has one route", rule.kind),
                );
            }
            if !rule.rank.is_finite() {
                problems.add(field("rank"), "must be a number");
            }
            if !(1..=100).contains(&rule.max_attempts) {
                problems.add(field("maxAttempts"), "must be 1 to 100");
            }
            if !(1..=86_400).contains(&rule.poll_seconds) {
                problems.add(field("pollSeconds"), "must be 1 to 86400");
            }
            for (name, command) in [
                ("startCommand", &rule.start_command),
                ("pollCommand", &rule.poll_command),
            ] {
                let is_async = rule.mode == KindMode::Async;
                match command {
                    None if is_async => problems.add(
                        field(name),
                        "is required for mode `async`: a list of the program and its arguments",
                    ),
                    Some(_) if !is_async => {
                        problems.add(field(name), "is allowed only for mode `async`");
                    }
                    Some(words) if words.first().is_none_or(Text::is_blank) => {
                        problems.add(field(name), "must start with a program");
                    }
                    _ => {}
                }
            }
            if rule.batch && rule.mode != KindMode::Agent {
                problems.add(field("batch"), "is allowed only for mode `agent`");
            }
        }
        problems.into_result(|| ())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn rule(retry: bool, max_attempts: u32) -> KindRule {
        KindRule {
            kind: "fix".parse().unwrap(),
            agent: "developer".parse().unwrap(),
            mode: KindMode::Agent,
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
    fn all_problems_of_rules_are_reported_at_once() {
        let text = |word: &str| word.parse::<Text>().unwrap();
        let wrong = [
            KindRule {
                max_attempts: 0,
                poll_seconds: 0,
                rank: f64::NAN,
                ..rule(false, 1)
            },
            KindRule {
                mode: KindMode::Async,
                batch: true,
                poll_command: Some(vec![text(" ")]),
                ..rule(false, 1)
            },
            KindRule {
                kind: "loop".parse().unwrap(),
                start_command: Some(vec![text("x")]),
                ..rule(false, 1)
            },
        ];
        let problems = KindRule::check_all(&wrong).unwrap_err();
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
        assert_eq!(KindRule::check_all(&[rule(true, 1)]), Ok(()));
    }
}
