//! Lineage: the limits on hand-offs that agents begin inside their own.

use super::limits::{ChainLimit, ChainLimits};
use crate::domain::{AgentName, Refusal};

/// Who handed on to whom, from the first agent to the one that is to be asked, whichever doors they used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The agents, the first one first.
    pub agents: Vec<AgentName>,
    /// How many tasks deep the hand-off is.
    pub depth: u32,
    /// How many hand-offs from agent to agent there have been on the first task and all below it.
    pub hops: u32,
}

impl Lineage {
    /// Lists the agents of hand-offs, each with who handed off and who was asked, the first one first. An agent that hands off
    /// right after it was asked is named once.
    pub fn agents_of(steps: &[(Option<AgentName>, AgentName)]) -> Vec<AgentName> {
        let mut agents = Vec::new();
        for (from, to) in steps {
            Self::push(&mut agents, from.as_ref());
            Self::push(&mut agents, Some(to));
        }
        agents
    }

    /// Adds an agent, unless it is the last one already.
    pub fn push(agents: &mut Vec<AgentName>, agent: Option<&AgentName>) {
        if let Some(agent) = agent
            && agents.last() != Some(agent)
        {
            agents.push(agent.clone());
        }
    }

    /// Counts how often the one that is asked is the one that asked just before.
    fn bounces(&self) -> usize {
        self.agents
            .windows(3)
            .filter(|three| three[0] == three[2])
            .count()
    }

    /// Checks the limits. The refusal names the chain.
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
    fn an_agent_that_hands_on_is_named_once() {
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
    fn each_limit_holds_and_names_the_chain() {
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
