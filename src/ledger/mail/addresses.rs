//! Addresses: resolving them as callers wrote them, and expanding roles to agents.

use crate::domain::{Address, AgentName, Correspondent, Recipient, Refusal, Role};
use crate::ledger::agent;
use crate::store::tables::agents;
use crate::store::{Result, StoreError, View};

/// Resolves an address as a caller wrote it: an agent, the operator, or a role that an agent has.
pub fn resolve(view: &View<'_>, asked: &str) -> Result<Address> {
    let asked = asked.trim();
    if asked.eq_ignore_ascii_case(Correspondent::OPERATOR) {
        return Ok(Address::One(Correspondent::operator()));
    }
    if let Some(role) = asked.strip_prefix(Address::ROLE)
        && let Ok(role) = Role::parse(role.trim())
    {
        agents_with_role(view, &role)?;
        return Ok(Address::Role(role));
    }
    match agent::resolve_any(view, asked) {
        Ok(name) => Ok(Address::One(Correspondent::from(&name))),
        Err(StoreError::Refused(unknown)) => match Role::parse(asked) {
            Ok(role) if !agents::names_with_role(view, &role)?.is_empty() => {
                Ok(Address::Role(role))
            }
            _ => Err(unknown.into()),
        },
        Err(error) => Err(error),
    }
}

/// Lists the recipients of a mail without duplicates: `to` wins over `cc`. A role expands to all agents that have it now.
pub fn expand(view: &View<'_>, to: &[Address], cc: &[Address]) -> Result<Vec<Recipient>> {
    let mut recipients: Vec<Recipient> = Vec::new();
    for (addresses, cc) in [(to, false), (cc, true)] {
        for address in addresses {
            let all = match address {
                Address::One(one) => vec![one.clone()],
                Address::Role(role) => {
                    let names = agents_with_role(view, role)?;
                    names.iter().map(Correspondent::from).collect()
                }
            };
            for recipient in all {
                let is_same = |before: &Recipient| before.recipient.is_named(recipient.as_str());
                if !recipients.iter().any(is_same) {
                    recipients.push(Recipient {
                        recipient,
                        cc,
                        delivered_at: None,
                        read_at: None,
                        acknowledged_at: None,
                        handoff_id: None,
                    });
                }
            }
        }
    }
    Ok(recipients)
}

/// Lists the agents that have a role. Refuses a role without agents.
fn agents_with_role(view: &View<'_>, role: &Role) -> Result<Vec<AgentName>> {
    let names = agents::names_with_role(view, role)?;
    if names.is_empty() {
        return Err(Refusal::NobodyHasRole(role.clone()).into());
    }
    Ok(names)
}
