//! Finding the run that shows a token.

use crate::domain::{AgentName, RunIdentity, RunState};
use crate::store::tables::runs;
use crate::store::{Result, View};

/// The run that has a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenHolder {
    /// The run works.
    Working(RunIdentity),
    /// The run has passed control on.
    MovedOn {
        run: RunIdentity,
        /// The agent that has control.
        agent_name: AgentName,
    },
}

/// Finds the run that has a token. A run that has ended otherwise than by passing control has none any more.
pub fn token_holder(view: &View<'_>, token_hash: &[u8; 32]) -> Result<Option<TokenHolder>> {
    let Some((run, state)) = runs::find_by_token(view, token_hash)? else {
        return Ok(None);
    };
    match state {
        RunState::Queued => Ok(None),
        RunState::Running => Ok(Some(TokenHolder::Working(run))),
        RunState::Ended => {
            let successor = runs::find_successor(view, &run.handoff_id)?;
            Ok(successor.map(|agent_name| TokenHolder::MovedOn { run, agent_name }))
        }
    }
}
