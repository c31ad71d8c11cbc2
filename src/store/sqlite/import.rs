//! Takes in tasks and agents that were exported.

use std::collections::HashMap;

use super::writer::Tx;
use super::{agents, attachments, events, handoffs, queue_messages, runs, tasks};
use crate::domain::{Agent, HandoffId, TaskArchive};
use crate::store::{ImportSource, Imported, Result, StoreError};

/// Imports everything, in one transaction. An agent that is there already with the same configuration is left alone.
pub(super) fn import(tx: &Tx<'_>, new_agents: &[Agent], source: ImportSource) -> Result<Imported> {
    let mut imported = Imported::default();
    agents::mark_seeded(tx)?;
    for agent in new_agents {
        if agents::load(tx, &agent.name)?.as_ref() != Some(agent) {
            agents::insert(tx, agent)?;
            imported.agents += 1;
        }
    }
    for archive in source {
        import_task(tx, &archive.map_err(StoreError::Source)?)?;
        imported.tasks += 1;
    }
    Ok(imported)
}

fn import_task(tx: &Tx<'_>, archive: &TaskArchive) -> Result<()> {
    let TaskArchive {
        task,
        history,
        queue,
        attachment_ids,
    } = archive;
    let number = tasks::insert(tx, task)?;
    let mut handoff_numbers: HashMap<&HandoffId, i64> = HashMap::new();
    for (position, entry) in (1..).zip(task.agent_chain()) {
        let (prompt, reason) = match &entry.request {
            Some(request) => (request.prompt.as_str(), request.reason.as_ref()),
            None => ("", None),
        };
        let handoff_number = handoffs::insert(tx, number, position, entry, prompt, reason)?;
        if entry.is_open() {
            // It was at work elsewhere. The next server finds no trace of it here, and ends it.
            runs::insert_running(tx, handoff_number, entry.started_at)?;
        }
        handoff_numbers.insert(&entry.id, handoff_number);
    }
    for (id, attachment) in attachment_ids.iter().zip(&task.attachments) {
        attachments::insert(tx, number, id, attachment)?;
    }
    for event in &history.events {
        let handoff_number = match &event.handoff_id {
            None => None,
            Some(id) => Some(*handoff_numbers.get(id).ok_or_else(|| {
                StoreError::inconsistent(format!(
                    "an event of task {} is about an unknown hand-off {id}",
                    task.id
                ))
            })?),
        };
        events::insert(tx, number, handoff_number, event)?;
    }
    for message in &queue.messages {
        queue_messages::insert(tx, number, message)?;
    }
    Ok(())
}
