//! Runs in an archive.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::{
    HandoffId, Isolation, Outcome, ProviderSession, RunId, RunState, Text, Timestamp,
};

/// The most starts that only the files of a run deny.
const MOST_UNPROVEN_STARTS: u32 = 3;

/// The maximum of a run's tokens or turns, so that sums over all runs are numbers of the database.
const MOST_USAGE: u64 = 1_000_000_000_000;

const MOST_COST: f64 = 1e12;

/// The keys of `usage` that are summed.
const SUMMED: [&str; 3] = ["inputTokens", "outputTokens", "turns"];

/// The runs of a task, in the order of its hand-offs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "the runs of a task")]
pub struct Runs {
    pub runs: Vec<ArchivedRun>,
}

/// A run in an archive. Its token, its process and the data directory of its server stay where they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a run")]
pub struct ArchivedRun {
    pub id: RunId,
    pub handoff_id: HandoffId,
    pub attempt: u32,
    pub state: RunState,
    pub outcome: Option<Outcome>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub priority: i64,
    pub usage: Option<Map<String, Value>>,
    pub cost_usd: Option<f64>,
    pub session_id: Option<ProviderSession>,
    pub resumes: Option<ProviderSession>,
    pub isolation: Option<Isolation>,
    pub launched_at: Option<Timestamp>,
    pub max_seconds: Option<i64>,
    pub idle_seconds: Option<i64>,
    pub unproven_starts: u32,
    pub followed_bytes: i64,
    pub followed_error_bytes: i64,
    pub failing_since: Option<Timestamp>,
    pub last_error: Option<Text>,
    pub denied_tools: Vec<Text>,
}

impl ArchivedRun {
    /// Checks a run for contradictions.
    pub fn check(&self) -> Result<(), &'static str> {
        let has_ended = self.state == RunState::Ended;
        if self.attempt == 0 {
            return Err("`attempt` must be 1 or more");
        }
        if has_ended != self.outcome.is_some() || has_ended != self.ended_at.is_some() {
            return Err(
                "only a run with the state `ended` has `outcome` and `endedAt`, and it has both",
            );
        }
        if self.state == RunState::Queued && self.started_at.is_some() {
            return Err("a queued run must not have `startedAt`");
        }
        if self.state == RunState::Running && self.started_at.is_none() {
            return Err("a running run must have `startedAt`");
        }
        if self
            .cost_usd
            .is_some_and(|cost| !(0.0..=MOST_COST).contains(&cost))
        {
            return Err("`costUsd` must be 0 or more, and at most 1000000000000");
        }
        if self
            .started_at
            .zip(self.ended_at)
            .is_some_and(|(start, end)| end < start)
        {
            return Err("`endedAt` must not be before `startedAt`");
        }
        self.check_usage()?;
        let limits = [self.max_seconds, self.idle_seconds];
        let read = [self.followed_bytes, self.followed_error_bytes];
        if limits
            .into_iter()
            .flatten()
            .chain(read)
            .any(|number| number < 0)
        {
            return Err("limits and numbers of bytes must be 0 or more");
        }
        if self.unproven_starts > MOST_UNPROVEN_STARTS {
            return Err("`unprovenStarts` must be at most 3");
        }
        Ok(())
    }

    /// Checks that the usage can be summed. A null counts as unknown.
    fn check_usage(&self) -> Result<(), &'static str> {
        let Some(usage) = &self.usage else {
            return Ok(());
        };
        if !usage
            .values()
            .all(|value| value.is_number() || value.is_null())
        {
            return Err("`usage` must have numbers only");
        }
        let is_summable = |value: &Value| {
            let number = value.as_u64();
            value.is_null() || number.is_some_and(|number| number <= MOST_USAGE)
        };
        if !SUMMED
            .iter()
            .filter_map(|key| usage.get(*key))
            .all(is_summable)
        {
            return Err(
                "`inputTokens`, `outputTokens` and `turns` of `usage` must be whole numbers from 0 to 1000000000000",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(changes: &Value) -> Result<(), &'static str> {
        let mut run = json!({
            "id": "r", "handoffId": "h", "attempt": 1, "state": "ended", "outcome": "completed", "queuedAt": 1,
            "startedAt": 2, "endedAt": 3, "priority": 100, "usage": null, "costUsd": 0.1, "sessionId": null,
            "resumes": null, "isolation": null, "launchedAt": null, "maxSeconds": null, "idleSeconds": null,
            "unprovenStarts": 0, "followedBytes": 0, "followedErrorBytes": 0, "failingSince": null, "lastError": null,
            "deniedTools": [],
        });
        for (key, value) in changes.as_object().unwrap() {
            run[key] = value.clone();
        }
        serde_json::from_value::<ArchivedRun>(run).unwrap().check()
    }

    #[test]
    fn contradictory_runs_are_refused() {
        assert_eq!(check(&json!({})), Ok(()));
        for changes in [
            json!({ "attempt": 0 }),
            json!({ "outcome": null }),
            json!({ "endedAt": null }),
            json!({ "state": "running" }),
            json!({ "state": "queued", "outcome": null, "endedAt": null }),
            json!({ "state": "running", "outcome": null, "endedAt": null, "startedAt": null }),
            json!({ "costUsd": -1.0 }),
            json!({ "costUsd": 1e300 }),
            json!({ "startedAt": 4 }),
            json!({ "usage": { "inputTokens": 1e300 } }),
            json!({ "usage": { "inputTokens": 1.5 } }),
            json!({ "usage": { "outputTokens": -5 } }),
            json!({ "usage": { "turns": u64::MAX } }),
            json!({ "usage": { "turns": [1] } }),
            json!({ "usage": { "output_tokens": "x" } }),
            json!({ "maxSeconds": -1 }),
            json!({ "followedBytes": -1 }),
            json!({ "unprovenStarts": 4 }),
        ] {
            assert!(check(&changes).is_err(), "{changes}");
        }
    }
}
