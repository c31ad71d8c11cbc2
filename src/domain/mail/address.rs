//! Addresses: the senders and recipients of mail.

use serde::{Deserialize, Serialize};

use crate::domain::text::id;
use crate::domain::{AgentName, Role};

id::name! {
    /// A sender or recipient of mail: an agent, `operator`, `router` or `anonymous`.
    Correspondent
}

impl Correspondent {
    pub const OPERATOR: &'static str = "operator";
    pub const ROUTER: &'static str = "router";
    /// A person on this machine who gives no name.
    pub const ANONYMOUS: &'static str = "anonymous";

    pub fn operator() -> Self {
        Self(Self::OPERATOR.to_owned())
    }

    pub fn router() -> Self {
        Self(Self::ROUTER.to_owned())
    }

    pub fn anonymous() -> Self {
        Self(Self::ANONYMOUS.to_owned())
    }

    /// Compares names without case, like the names of agents.
    pub fn is_named(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

impl From<&AgentName> for Correspondent {
    fn from(name: &AgentName) -> Self {
        Self(name.to_string())
    }
}

/// The addressee of a mail: an agent, `operator`, or `role:NAME` for every agent that has the role at that time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    /// An agent or the operator.
    One(Correspondent),
    Role(Role),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the name of an agent, `operator`, or `role:NAME`")]
pub struct IllegalAddress;

impl Address {
    /// The prefix of a role.
    pub const ROLE: &'static str = "role:";
}

impl TryFrom<String> for Address {
    type Error = IllegalAddress;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.strip_prefix(Self::ROLE) {
            Some(role) => Role::parse(role)
                .map(Self::Role)
                .map_err(|_| IllegalAddress),
            None => Correspondent::parse(text)
                .map(Self::One)
                .map_err(|_| IllegalAddress),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(one) => one.fmt(f),
            Self::Role(role) => write!(f, "{}{role}", Self::ROLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_wire() {
        for text in ["qa", "operator", "role:testing", "Developer-Review"] {
            let address = Address::try_from(text.to_owned()).unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(serde_json::to_value(&address).unwrap(), text);
        }
        for text in ["", "role:", "role:No", "role:a b", "a/b", "team:x", "a\0"] {
            assert_eq!(
                Address::try_from(text.to_owned()),
                Err(IllegalAddress),
                "{text:?}"
            );
        }
    }
}
