//! Seeding the default agents, once in the life of a database.

use super::write::insert;
use crate::domain::{Agent, match_agent_name};
use crate::store::tables::{agents, installation};
use crate::store::{Result, Tx};

/// Seeds agents, unless agents were seeded before or any exist. Returns their number.
pub fn seed(tx: &mut Tx<'_>, seeds: &[Agent]) -> Result<usize> {
    if !installation::mark_agents_seeded(tx)? || agents::has_any(tx)? {
        return Ok(0);
    }
    for agent in seeds {
        insert(tx, agent)?;
    }
    Ok(seeds.len())
}

/// Seeds the specialists, unless they were seeded before, and returns their number. Skips names that match an existing agent.
pub fn seed_specialists(tx: &mut Tx<'_>, specialists: &[Agent]) -> Result<usize> {
    if !installation::mark_specialists_seeded(tx)? {
        return Ok(0);
    }
    let mut seeded = 0;
    for agent in specialists {
        if match_agent_name(agent.name.as_str(), &agents::names(tx)?).is_none() {
            insert(tx, agent)?;
            seeded += 1;
        }
    }
    Ok(seeded)
}
