//! Analytics: figures over many hand-offs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::AgentName;

/// How hand-offs went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoffAnalytics {
    /// All of them together.
    pub total: HandoffFigures,
    /// How often a hand-off went straight back to the agent that it came from.
    pub bounces: u64,
    /// By who handed to whom, the most frequent first.
    pub pairs: Vec<PairFigures>,
    /// The most common ways over three agents (length 2) and four (length 3), the most frequent first.
    pub paths: Vec<CommonPath>,
}

/// How some hand-offs went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoffFigures {
    /// How many there are.
    pub handoffs: u64,
    /// How many have ended.
    pub ended: u64,
    /// How many have ended well.
    pub completed: u64,
    /// Which part of those that have ended, ended well; null if none has ended.
    #[schema(required)]
    pub success_rate: Option<f64>,
    /// The time that half of those that an agent ran for did not exceed, in milliseconds; to three digits.
    #[schema(required)]
    pub median_ms: Option<u64>,
    /// The time that 95 of 100 did not exceed, in milliseconds; to three digits.
    #[schema(required)]
    pub p95_ms: Option<u64>,
    /// What they cost, in US dollars.
    pub cost_usd: f64,
}

/// How the hand-offs from one agent to another went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairFigures {
    /// Who handed off; null for a person.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// Who was asked.
    pub to_agent: AgentName,
    /// The figures.
    #[serde(flatten)]
    pub figures: HandoffFigures,
    /// How many of these went straight back.
    pub bounces: u64,
}

/// A way that control often takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommonPath {
    /// The agents, the first one first.
    pub agents: Vec<AgentName>,
    /// How many hand-offs it has.
    pub length: u32,
    /// How often it was taken.
    pub count: u64,
}
