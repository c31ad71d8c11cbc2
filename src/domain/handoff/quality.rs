//! The quality of hand-offs: which work had to be done again, and how soon an agent says something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::AgentName;

/// The quality of the hand-offs to an agent. A rate or a time is null where nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoffQuality {
    /// The work that had to be done again.
    pub rework: Rework,
    /// The work that a verification returned.
    pub review: Review,
    /// The time from the start of a run to the first message of its agent.
    pub first_message: FirstMessageTimes,
}

/// Counts tasks on which an agent completed a hand-off, other than tests and verifications.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rework {
    /// The tasks that were judged: a test or a verification of the work has ended, or a fix of it has begun.
    pub judged: u64,
    /// The judged tasks with a failed test, a failed verification or a fix.
    pub reworked: u64,
    /// The share of these among the judged tasks; null if none was judged.
    #[schema(required)]
    pub rate: Option<f64>,
}

/// Counts tasks on which an agent completed a hand-off, other than tests and verifications.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The tasks with an ended verification.
    pub reviewed: u64,
    /// The tasks with a failed verification.
    pub returned: u64,
    /// The share of these among the reviewed tasks; null if none was reviewed.
    #[schema(required)]
    pub rate: Option<f64>,
}

/// Times to the first message. A run that was stopped does not count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirstMessageTimes {
    /// The number of hand-offs with a message.
    pub handoffs: u64,
    /// The median in milliseconds, to three digits.
    #[schema(required)]
    pub median_ms: Option<u64>,
    /// The 95th percentile in milliseconds, to three digits.
    #[schema(required)]
    pub p95_ms: Option<u64>,
}

/// The hand-offs to an agent with the same time to their first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstMessages {
    pub agent: AgentName,
    /// In milliseconds.
    pub took: u64,
    pub handoffs: u64,
}

/// The judged tasks on which an agent worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedWork {
    pub agent: AgentName,
    pub judged: u64,
    pub reworked: u64,
    pub reviewed: u64,
    pub returned: u64,
}

/// A number of hand-offs for each time in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Times(BTreeMap<u64, u64>);

impl Times {
    pub fn count(&mut self, took: u64, handoffs: u64) {
        *self.0.entry(took).or_default() += handoffs;
    }

    pub fn add(&mut self, other: &Self) {
        for (took, handoffs) in &other.0 {
            self.count(*took, *handoffs);
        }
    }

    fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the smallest time that `percent` percent of the hand-offs do not exceed.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let all = self.total();
        let mut so_far = 0;
        let mut times = self.0.iter();
        times
            .find(|(_, handoffs)| {
                so_far += *handoffs;
                so_far * 100 >= all * percent
            })
            .map(|(took, _)| *took)
    }
}

/// Returns the share of `part` in `all`; `None` if there are none.
pub(super) fn share(part: u64, all: u64) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate needs less precision than an f64 has"
    )]
    let share = || part as f64 / all as f64;
    (all > 0).then(share)
}

impl HandoffQuality {
    /// Sums up the quality of the hand-offs to each agent.
    pub(super) fn of_agents(
        first_messages: Vec<FirstMessages>,
        judged_work: Vec<JudgedWork>,
    ) -> BTreeMap<AgentName, Self> {
        let mut all: BTreeMap<AgentName, Self> = BTreeMap::new();
        let mut times: BTreeMap<AgentName, Times> = BTreeMap::new();
        for first in first_messages {
            let times = times.entry(first.agent).or_default();
            times.count(first.took, first.handoffs);
        }
        for (agent, times) in times {
            all.entry(agent).or_default().first_message = FirstMessageTimes {
                handoffs: times.total(),
                median_ms: times.percentile(50),
                p95_ms: times.percentile(95),
            };
        }
        for work in judged_work {
            let quality = all.entry(work.agent).or_default();
            quality.rework = Rework {
                judged: work.judged,
                reworked: work.reworked,
                rate: share(work.reworked, work.judged),
            };
            quality.review = Review {
                reviewed: work.reviewed,
                returned: work.returned,
                rate: share(work.returned, work.reviewed),
            };
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact() {
        for (counts, median, p95) in [
            (&[][..], None, None),
            (&[(10, 1)][..], Some(10), Some(10)),
            (&[(10, 1), (20, 1)][..], Some(10), Some(20)),
            (&[(10, 94), (20, 1), (30, 5)][..], Some(10), Some(20)),
            (&[(10, 94), (30, 6)][..], Some(10), Some(30)),
        ] {
            let mut times = Times::default();
            for (took, handoffs) in counts {
                times.count(*took, *handoffs);
            }
            let found = (times.percentile(50), times.percentile(95));
            assert_eq!(found, (median, p95), "{counts:?}");
        }
    }

    #[test]
    fn a_rate_of_nothing_is_unknown() {
        let ada = AgentName::parse("ada").unwrap();
        let work = JudgedWork {
            agent: ada.clone(),
            judged: 4,
            reworked: 1,
            reviewed: 0,
            returned: 0,
        };
        let all = HandoffQuality::of_agents(Vec::new(), vec![work]);
        assert_eq!(all[&ada].rework.rate, Some(0.25));
        assert_eq!(all[&ada].review.rate, None);
        assert_eq!(all[&ada].first_message, FirstMessageTimes::default());
    }
}
