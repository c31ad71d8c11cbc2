//! Lineage: the chain of agents that limits further hand-offs.

use super::limits::{ChainLimit, ChainLimits};
use crate::domain::{AgentName, Refusal};

/// The chain of agents from the first one to the next target, through all doors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The agents in order.
    pub agents: Vec<AgentName>,
    /// The depth of the task in its tree.
    pub depth: u32,
    /// Hand-offs from agent to agent on the root task and its descendants.
    pub hops: u32,
}

impl Lineage {
    /// Lists the agents of hand-offs, given as pairs of agent and target. Consecutive duplicates are merged.
    pub fn agents_of(steps: &[(Option<AgentName>, AgentName)]) -> Vec<AgentName> {
        let mut agents = Vec::new();
        for (from, to) in steps {
            Self::push(&mut agents, from.as_ref());
            Self::push(&mut agents, Some(to));
        }
        agents
    }

    /// Adds an agent unless it is already the last one.
    pub fn push(agents: &mut Vec<AgentName>, agent: Option<&AgentName>) {
        if let Some(agent) = agent
            && agents.last() != Some(agent)
        {
            agents.push(agent.clone());
        }
    }

    /// Counts hand-offs straight back to the agent that handed off.
    fn bounces(&self) -> usize {
        self.agents
            .windows(3)
            .filter(|three| three[0] == three[2])
            .count()
    }

    /// Checks the limits.
    pub fn check(&self, limits: ChainLimits) -> Result<(), Refusal> {
        let refuse = |what, limit| {
            let chain = self.agents.clone();
            Err(Refusal::LimitExceeded { what, limit, chain })
        };
        if self.depth > limits.depth {
            refuse(ChainLimit::Depth, limits.depth)
        } else if self.bounces() > limits.bounces as usize {
            refuse(ChainLimit::Bounces, limits.bounces)
        } else if self.hops >= limits.hops {
            refuse(ChainLimit::Hops, limits.hops)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(agents: &[&str], hops: u32) -> Lineage {
        Lineage {
            depth: u32::try_from(agents.len()).unwrap(),
            agents: agents
                .iter()
                .map(|name| AgentName::parse(*name).unwrap())
                .collect(),
            hops,
        }
    }

    #[test]
    fn consecutive_agents_are_merged() {
        let name = |name| AgentName::parse(name).unwrap();
        let steps = [
            (None, name("a")),
            (Some(name("a")), name("b")),
            (Some(name("c")), name("d")),
        ];
        assert_eq!(Lineage::agents_of(&steps), ["a", "b", "c", "d"].map(name));
        assert_eq!(Lineage::agents_of(&[]), []);
    }

    #[test]
    fn each_limit_is_enforced_and_names_the_chain() {
        let limits = ChainLimits {
            depth: 4,
            hops: 5,
            bounces: 1,
        };
        assert_eq!(lineage(&["a", "b", "c", "d"], 4).check(limits), Ok(()));
        assert_eq!(lineage(&["a", "b", "a"], 0).check(limits), Ok(()));
        for (agents, hops, what, limit) in [
            (&["a", "b", "c", "d", "e"][..], 0, ChainLimit::Depth, 4),
            (&["a", "b", "a", "b"][..], 0, ChainLimit::Bounces, 1),
            (&["a", "b"][..], 5, ChainLimit::Hops, 5),
        ] {
            let lineage = lineage(agents, hops);
            let chain = lineage.agents.clone();
            let expected = Refusal::LimitExceeded { what, limit, chain };
            assert_eq!(lineage.check(limits), Err(expected));
        }
    }
}
