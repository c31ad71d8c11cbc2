//! Claiming the next run.

use std::time::Duration;

use crate::domain::{EventKind, Isolation, RunId, Text, Timestamp};
use crate::ledger::{history, request};
use crate::store::tables::runs;
use crate::store::{Result, Tx};

use super::find::{ClaimedRun, load, number, place};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRun {
    /// The number of slots.
    pub max_runs: u32,
    /// The name of the claiming server's installation.
    pub installation: String,
    /// The runs whose processes may still be alive.
    pub live: Vec<RunId>,
    /// The hash of the token for the run's process.
    pub token_hash: [u8; 32],
    /// The isolation of agents that do not name one.
    pub isolation: Isolation,
    /// How long a run waits until the files of its requests say `claimed`; `None` if nobody writes files.
    pub tag_wait: Option<Duration>,
}

/// Claims the queued run that is next, if a slot is free.
pub fn claim(tx: &mut Tx<'_>, claim: &ClaimRun) -> Result<Option<ClaimedRun>> {
    if runs::count_occupied(tx, &claim.live)? >= u64::from(claim.max_runs) {
        return Ok(None);
    }
    let claimed_after = claim.tag_wait.map(|wait| ago(tx, wait));
    let Some(number) = runs::find_next(tx, &claim.live, claimed_after)? else {
        return Ok(None);
    };
    runs::update_started(tx, number, &claim.installation, &claim.token_hash)?;
    let mut claimed = load(tx, number)?;
    claimed.isolation = match &claimed.agent {
        // A command that starts an external job is not an agent.
        Some(agent) if !claimed.starts_job() => agent.isolation.unwrap_or(claim.isolation),
        _ => Isolation::Unmasked,
    };
    runs::update_isolation(tx, number, claimed.isolation)?;
    let place = place(tx, number)?;
    let started = EventKind::RunStarted {
        agent_name: claimed.identity.agent_name.clone(),
    };
    let handoff = Some((&place.handoff_id, place.handoff_number));
    history::record(tx, place.on(), handoff, started)?;
    if claim.tag_wait.is_some() {
        request::record_late_tags(tx, place.handoff_number)?;
    }
    Ok(Some(claimed))
}

/// Returns after which time the first of the queued runs stops waiting for the tags of its requests.
pub fn tags_due(tx: &Tx<'_>, wait: Duration) -> Result<Option<Duration>> {
    let since = ago(tx, wait);
    let first = runs::find_first_waiting_for_tag(tx, since)?;
    Ok(first.map(|claimed_at| {
        let millis = claimed_at.as_millis() - since.as_millis();
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }))
}

fn ago(tx: &Tx<'_>, time: Duration) -> Timestamp {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(tx.now.as_millis().saturating_sub(millis))
}

/// Re-queues a run that was claimed but never started.
pub fn return_run(tx: &Tx<'_>, id: &RunId) -> Result<()> {
    runs::update_queued(tx, id)?;
    Ok(())
}

/// Re-queues a run if only its files show that its agent never began, and records why. The agent can forge its files, so the ledger
/// believes them a few times only. Returns false if the run must end instead.
pub fn requeue_unproven(tx: &mut Tx<'_>, id: &RunId, reason: &str) -> Result<bool> {
    if !runs::count_unproven_start(tx, id)? {
        return Ok(false);
    }
    requeue(tx, id, reason)?;
    Ok(true)
}

/// Re-queues a run whose program does not know the session that it should resume. The run then starts fresh, and is told everything.
pub fn requeue_fresh(tx: &mut Tx<'_>, id: &RunId, reason: &str) -> Result<()> {
    requeue(tx, id, reason)?;
    runs::update_fresh(tx, id)
}

/// Re-queues a run that could not start, and records why.
pub fn requeue(tx: &mut Tx<'_>, id: &RunId, reason: &str) -> Result<()> {
    let number = number(tx, id)?;
    // A run that was ended meanwhile stays ended.
    if !runs::update_queued(tx, id)? {
        return Ok(());
    }
    let place = place(tx, number)?;
    let handoff = Some((&place.handoff_id, place.handoff_number));
    let requeued = EventKind::RunRequeued {
        agent_name: load(tx, number)?.identity.agent_name,
        reason: Text::lossy(reason.to_owned()),
    };
    history::record(tx, place.on(), handoff, requeued)
}
