//! Topics: what the server itself waits for, beside single tasks and requests.

use super::event::Event;
use super::kind::EventKind;

/// A subject that events are about, for those who wait for more than one task or request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Requests, alerts and the rules of their kinds.
    Requests,
    /// Hand-offs and runs that begin or end: a slot may be free, or taken.
    Slots,
    /// Tasks that are ready.
    Ready,
    /// Agents that come, go or change.
    Agents,
}

/// An event that was recorded, with its topic.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub event: Event,
    pub topic: Option<Topic>,
}

impl EventKind {
    /// Returns the topic of an event of this kind. Events about a request have the topic of requests, whatever their kind.
    pub const fn topic(&self) -> Option<Topic> {
        match self {
            Self::AlertRaised { .. } | Self::AlertResolved { .. } | Self::RoutesChanged { .. } => {
                Some(Topic::Requests)
            }
            Self::HandoffStarted { .. } | Self::HandoffEnded { .. } | Self::RunStarted { .. } => {
                Some(Topic::Slots)
            }
            Self::TaskReady { .. } => Some(Topic::Ready),
            Self::Agent { .. } => Some(Topic::Agents),
            _ => None,
        }
    }
}
