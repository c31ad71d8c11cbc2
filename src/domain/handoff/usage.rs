//! Usage: sums of tokens, turns, time and cost over runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The total usage of the runs of a task with all tasks below it, or of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    /// The number of ended runs.
    pub runs: u64,
    /// The input tokens.
    pub input_tokens: u64,
    /// The output tokens.
    pub output_tokens: u64,
    /// The turns with the model.
    pub turns: u64,
    /// The total duration in milliseconds.
    pub duration_ms: u64,
    /// The cost in US dollars, as far as providers report it; null if none does.
    #[schema(required)]
    pub cost_usd: Option<f64>,
}
