//! Usage: sums of tokens, turns, time and cost over runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the runs of a task or of an agent used, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    /// How many runs have ended.
    pub runs: u64,
    /// Tokens that went in.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// Rounds with the model.
    pub turns: u64,
    /// How long they took, in milliseconds.
    pub duration_ms: u64,
    /// What they cost, in US dollars, where the provider says so.
    pub cost_usd: f64,
}
