//! Names of agents.

use crate::domain::text::id;

id::name! {
    /// The name of a configured agent.
    AgentName
}

impl AgentName {
    pub fn eq_ignore_case(&self, other: &Self) -> bool {
        self.as_str().eq_ignore_ascii_case(other.as_str())
    }
}
