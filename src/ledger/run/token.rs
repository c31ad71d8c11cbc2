//! Finding the run of a token or of a process.

use crate::domain::{AgentName, RunId, RunIdentity, RunState};
use crate::store::tables::runs;
use crate::store::{Result, View};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenHolder {
    /// The run is active.
    Working(RunIdentity),
    /// The run has passed on control.
    MovedOn {
        run: RunIdentity,
        /// The agent that has control now.
        agent_name: AgentName,
    },
}

/// Finds the run of a token. The token stays valid if the run passed on control; any other end invalidates it.
pub fn token_holder(view: &View<'_>, token_hash: &[u8; 32]) -> Result<Option<TokenHolder>> {
    let found = runs::find_by_token(view, token_hash)?;
    current(view, found)
}

/// Finds a run of which a process calls without the token. The run has the rights of its token, and as long.
pub fn find_holder(view: &View<'_>, id: &RunId) -> Result<Option<TokenHolder>> {
    let found = runs::find_identity(view, id)?;
    current(view, found)
}

fn current(view: &View<'_>, found: Option<(RunIdentity, RunState)>) -> Result<Option<TokenHolder>> {
    let Some((run, state)) = found else {
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
