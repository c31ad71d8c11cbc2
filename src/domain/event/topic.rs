//! Topics: groups of events that the server's own loops wait for.

use super::event::Event;
use super::kind::EventKind;

/// A group of events, for waiters on more than one task or request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Requests, alerts and kind rules.
    Requests,
    /// Starts and ends of hand-offs and runs: the number of free slots may change.
    Slots,
    /// Tasks that became ready.
    Ready,
    /// Changes of agents.
    Agents,
}

/// A recorded event with its topic.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub event: Event,
    pub topic: Option<Topic>,
}

impl EventKind {
    /// Returns the topic of an event of this kind. An event with a request always has the topic `Requests`.
    pub const fn topic(&self) -> Option<Topic> {
        match self {
            Self::AlertRaised { .. } | Self::AlertResolved { .. } | Self::RoutesChanged { .. } => {
                Some(Topic::Requests)
            }
            Self::HandoffStarted { .. }
            | Self::HandoffEnded { .. }
            | Self::RunStarted { .. }
            | Self::RunRequeued { .. } => Some(Topic::Slots),
            Self::TaskReady { .. } => Some(Topic::Ready),
            Self::Agent { .. } => Some(Topic::Agents),
            _ => None,
        }
    }
}
