//! Analytics: statistics over many hand-offs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// The number of completed hand-offs.
    pub completed: u64,
    /// The share of completed hand-offs among the ended ones; null if none has ended.
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

impl HandoffAnalytics {
    /// Aggregates counts, costs and bounces by pair of agents and in total.
    pub fn aggregate(
        counts: Vec<HandoffCount>,
        costs: Vec<(AgentPair, f64)>,
        bounces: Vec<(AgentPair, u64)>,
        paths: Vec<CommonPath>,
    ) -> Self {
        let mut tallies: BTreeMap<AgentPair, Tally> = BTreeMap::new();
        for count in counts {
            tallies.entry(count.pair.clone()).or_default().count(&count);
        }
        for (pair, cost_usd) in costs {
            tallies.entry(pair).or_default().add_cost(Some(cost_usd));
        }
        let bounces: BTreeMap<_, _> = bounces.into_iter().collect();
        let mut total = Tally::default();
        for tally in tallies.values() {
            total.add(tally);
        }
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
            paths,
        }
    }
}

#[derive(Default)]
struct Tally {
    handoffs: u64,
    ended: u64,
    completed: u64,
    cost_usd: Option<f64>,
    /// The number of hand-offs by duration in milliseconds.
    times: BTreeMap<u64, u64>,
}

impl Tally {
    fn count(&mut self, count: &HandoffCount) {
        self.handoffs += count.handoffs;
        self.ended += count.ended;
        self.completed += count.completed;
        if let Some(took) = count.took {
            *self.times.entry(took).or_default() += count.handoffs;
        }
    }

    fn add(&mut self, other: &Self) {
        self.handoffs += other.handoffs;
        self.ended += other.ended;
        self.completed += other.completed;
        self.add_cost(other.cost_usd);
        for (took, handoffs) in &other.times {
            *self.times.entry(*took).or_default() += handoffs;
        }
    }

    /// Adds a cost. The sum is unknown until a cost is known.
    fn add_cost(&mut self, cost_usd: Option<f64>) {
        if let Some(cost_usd) = cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost_usd;
        }
    }

    /// Returns the smallest duration that `percent` percent of the hand-offs do not exceed.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.times.values().sum();
        let mut so_far = 0;
        let mut times = self.times.iter();
        times
            .find(|(_, handoffs)| {
                so_far += *handoffs;
                so_far * 100 >= all * percent
            })
            .map(|(took, _)| *took)
    }

    fn figures(&self) -> HandoffFigures {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a rate needs less precision than an f64 has"
        )]
        let success_rate = (self.ended > 0).then(|| self.completed as f64 / self.ended as f64);
        HandoffFigures {
            handoffs: self.handoffs,
            ended: self.ended,
            completed: self.completed,
            success_rate,
            median_ms: self.percentile(50),
            p95_ms: self.percentile(95),
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
    fn percentiles_are_exact() {
        for (times, median, p95) in [
            (&[][..], None, None),
            (&[(10, 1)][..], Some(10), Some(10)),
            (&[(10, 1), (20, 1)][..], Some(10), Some(20)),
            (&[(10, 94), (20, 1), (30, 5)][..], Some(10), Some(20)),
            (&[(10, 94), (30, 6)][..], Some(10), Some(30)),
        ] {
            let tally = Tally {
                times: times.iter().copied().collect(),
                ..Tally::default()
            };
            let found = (tally.percentile(50), tally.percentile(95));
            assert_eq!(found, (median, p95), "{times:?}");
        }
    }

    #[test]
    fn pairs_are_aggregated_most_frequent_first() {
        let (asked, handed) = (pair(None, "a"), pair(Some("a"), "b"));
        let analytics = HandoffAnalytics::aggregate(
            vec![
                count(&asked, Some(100), [1, 1, 0]),
                count(&handed, Some(100), [2, 2, 2]),
                count(&handed, Some(300), [1, 1, 1]),
                count(&handed, None, [1, 0, 0]),
            ],
            vec![(handed.clone(), 0.5), (asked, 0.25)],
            vec![(handed, 1)],
            Vec::new(),
        );
        assert_eq!(
            analytics.total,
            HandoffFigures {
                handoffs: 5,
                ended: 4,
                completed: 3,
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
        assert_eq!(pairs, [("b", 4, 1), ("a", 1, 0)]);
        assert_eq!(analytics.pairs[1].figures.success_rate, Some(0.0));
    }

    #[test]
    fn no_handoffs_have_no_rate_and_no_durations() {
        let analytics = HandoffAnalytics::aggregate(vec![], vec![], vec![], vec![]);
        assert_eq!(analytics.total, HandoffFigures::default());
    }
}
