//! Analytics: statistics over many hand-offs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::quality::{FirstMessages, HandoffQuality, JudgedWork, Times, share};
use crate::domain::AgentName;

/// Statistics of hand-offs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoffAnalytics {
    /// The statistics over all hand-offs.
    pub total: HandoffFigures,
    /// The number of hand-offs straight back to the agent that handed off.
    pub bounces: u64,
    /// The statistics by pair of agents, most frequent first.
    pub pairs: Vec<PairFigures>,
    /// The statistics by target, most frequent first. With `agent`, only that of this agent.
    pub agents: Vec<AgentFigures>,
    /// The most common paths over three agents (length 2) and four agents (length 3), most frequent first.
    pub paths: Vec<CommonPath>,
}

/// Statistics of a group of hand-offs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoffFigures {
    /// The number of hand-offs.
    pub handoffs: u64,
    /// The number of ended hand-offs.
    pub ended: u64,
    /// The number of completed hand-offs, without those that moved on.
    pub completed: u64,
    /// The number of hand-offs whose agent was stopped because control moved on: neither a success nor a failure.
    pub moved_on: u64,
    /// The share of completed hand-offs among the ended ones that did not move on; null if there are none.
    #[schema(required)]
    pub success_rate: Option<f64>,
    /// The median duration in milliseconds, to three digits. Only hand-offs with an agent run count.
    #[schema(required)]
    pub median_ms: Option<u64>,
    /// The 95th percentile of the duration in milliseconds, to three digits.
    #[schema(required)]
    pub p95_ms: Option<u64>,
    /// The cost in US dollars, as far as providers report it; null if none does.
    #[schema(required)]
    pub cost_usd: Option<f64>,
}

/// Statistics of the hand-offs from one agent to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairFigures {
    /// The agent that handed off; null if no agent did.
    #[schema(required)]
    pub from_agent: Option<AgentName>,
    /// The target of the hand-offs.
    pub to_agent: AgentName,
    /// The statistics.
    #[serde(flatten)]
    pub figures: HandoffFigures,
    /// The number of hand-offs straight back to the agent that handed off.
    pub bounces: u64,
}

/// Statistics of the hand-offs to one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentFigures {
    /// The target of the hand-offs.
    pub agent_name: AgentName,
    /// The statistics.
    #[serde(flatten)]
    pub figures: HandoffFigures,
    /// The quality of the work.
    pub quality: HandoffQuality,
}

/// A frequent path of control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommonPath {
    /// The agents in order.
    pub agents: Vec<AgentName>,
    /// The number of hand-offs on the path.
    pub length: u32,
    /// The number of times the path was taken.
    pub count: u64,
}

/// The agent that handed off (`None` if no agent did) and the target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentPair {
    pub from: Option<AgentName>,
    pub to: AgentName,
}

/// The hand-offs of a pair of agents with the same duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffCount {
    pub pair: AgentPair,
    /// In milliseconds; `None` unless the hand-offs have ended and an agent ran.
    pub took: Option<u64>,
    pub handoffs: u64,
    pub ended: u64,
    pub completed: u64,
}

/// The sums from which the statistics are made.
#[derive(Debug, Default)]
pub struct HandoffSums {
    pub counts: Vec<HandoffCount>,
    /// Hand-offs whose agent was stopped because control moved on. Their outcome is `completed`.
    pub moved_on: Vec<(AgentPair, u64)>,
    pub costs: Vec<(AgentPair, f64)>,
    pub bounces: Vec<(AgentPair, u64)>,
    pub first_messages: Vec<FirstMessages>,
    pub judged_work: Vec<JudgedWork>,
    pub paths: Vec<CommonPath>,
}

impl HandoffAnalytics {
    /// Aggregates sums by pair of agents, by target and in total. With `agent`, only the figures of this target are kept.
    pub fn aggregate(sums: HandoffSums, agent: Option<&AgentName>) -> Self {
        let mut tallies: BTreeMap<AgentPair, Tally> = BTreeMap::new();
        for count in sums.counts {
            tallies.entry(count.pair.clone()).or_default().count(&count);
        }
        for (pair, moved_on) in sums.moved_on {
            tallies.entry(pair).or_default().moved_on += moved_on;
        }
        for (pair, cost_usd) in sums.costs {
            tallies.entry(pair).or_default().add_cost(Some(cost_usd));
        }
        let bounces: BTreeMap<_, _> = sums.bounces.into_iter().collect();
        let mut total = Tally::default();
        let mut targets: BTreeMap<&AgentName, Tally> = BTreeMap::new();
        for (pair, tally) in &tallies {
            total.add(tally);
            if agent.is_none_or(|agent| agent.as_str().eq_ignore_ascii_case(pair.to.as_str())) {
                targets.entry(&pair.to).or_default().add(tally);
            }
        }
        let mut quality = HandoffQuality::of_agents(sums.first_messages, sums.judged_work);
        let mut agents: Vec<_> = targets
            .into_iter()
            .map(|(name, tally)| AgentFigures {
                agent_name: name.clone(),
                figures: tally.figures(),
                quality: quality.remove(name).unwrap_or_default(),
            })
            .collect();
        agents.sort_by_key(|agent| Reverse(agent.figures.handoffs));
        let mut pairs: Vec<_> = tallies
            .into_iter()
            .map(|(pair, tally)| PairFigures {
                bounces: bounces.get(&pair).copied().unwrap_or_default(),
                from_agent: pair.from,
                to_agent: pair.to,
                figures: tally.figures(),
            })
            .collect();
        pairs.sort_by_key(|pair| Reverse(pair.figures.handoffs));
        Self {
            total: total.figures(),
            bounces: bounces.values().sum(),
            pairs,
            agents,
            paths: sums.paths,
        }
    }
}

#[derive(Default)]
struct Tally {
    handoffs: u64,
    ended: u64,
    /// Including those that moved on.
    completed: u64,
    moved_on: u64,
    cost_usd: Option<f64>,
    times: Times,
}

impl Tally {
    fn count(&mut self, count: &HandoffCount) {
        self.handoffs += count.handoffs;
        self.ended += count.ended;
        self.completed += count.completed;
        if let Some(took) = count.took {
            self.times.count(took, count.handoffs);
        }
    }

    fn add(&mut self, other: &Self) {
        self.handoffs += other.handoffs;
        self.ended += other.ended;
        self.completed += other.completed;
        self.moved_on += other.moved_on;
        self.add_cost(other.cost_usd);
        self.times.add(&other.times);
    }

    /// Adds a cost. The sum is unknown until a cost is known.
    fn add_cost(&mut self, cost_usd: Option<f64>) {
        if let Some(cost_usd) = cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost_usd;
        }
    }

    fn figures(&self) -> HandoffFigures {
        let completed = self.completed.saturating_sub(self.moved_on);
        HandoffFigures {
            handoffs: self.handoffs,
            ended: self.ended,
            completed,
            moved_on: self.moved_on,
            success_rate: share(completed, self.ended.saturating_sub(self.moved_on)),
            median_ms: self.times.percentile(50),
            p95_ms: self.times.percentile(95),
            cost_usd: self.cost_usd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(from: Option<&str>, to: &str) -> AgentPair {
        let name = |name| AgentName::parse(name).unwrap();
        AgentPair {
            from: from.map(name),
            to: name(to),
        }
    }

    fn count(
        pair: &AgentPair,
        took: Option<u64>,
        [all, ended, completed]: [u64; 3],
    ) -> HandoffCount {
        HandoffCount {
            pair: pair.clone(),
            took,
            handoffs: all,
            ended,
            completed,
        }
    }

    #[test]
    fn pairs_are_aggregated_most_frequent_first() {
        let (asked, handed) = (pair(None, "a"), pair(Some("a"), "b"));
        let sums = HandoffSums {
            counts: vec![
                count(&asked, Some(100), [1, 1, 0]),
                count(&handed, Some(100), [3, 3, 3]),
                count(&handed, Some(300), [1, 1, 1]),
                count(&handed, None, [1, 0, 0]),
            ],
            moved_on: vec![(handed.clone(), 1)],
            costs: vec![(handed.clone(), 0.5), (asked, 0.25)],
            bounces: vec![(handed, 1)],
            ..HandoffSums::default()
        };
        let analytics = HandoffAnalytics::aggregate(sums, None);
        assert_eq!(
            analytics.total,
            HandoffFigures {
                handoffs: 6,
                ended: 5,
                completed: 3,
                moved_on: 1,
                success_rate: Some(0.75),
                median_ms: Some(100),
                p95_ms: Some(300),
                cost_usd: Some(0.75),
            }
        );
        assert_eq!(analytics.bounces, 1);
        let pairs = analytics.pairs.iter();
        let pairs: Vec<_> = pairs
            .map(|pair| (pair.to_agent.as_str(), pair.figures.handoffs, pair.bounces))
            .collect();
        assert_eq!(pairs, [("b", 5, 1), ("a", 1, 0)]);
        assert_eq!(analytics.pairs[1].figures.success_rate, Some(0.0));
        let agents = analytics.agents.iter();
        let agents: Vec<_> = agents
            .map(|agent| (agent.agent_name.as_str(), agent.figures.success_rate))
            .collect();
        assert_eq!(agents, [("b", Some(1.0)), ("a", Some(0.0))]);
    }

    #[test]
    fn no_handoffs_have_no_rate_and_no_durations() {
        let analytics = HandoffAnalytics::aggregate(HandoffSums::default(), None);
        assert_eq!(analytics.total, HandoffFigures::default());
    }
}
