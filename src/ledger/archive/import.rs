//! Importing an archive.

use super::task::import_task;
use crate::domain::{
    Agent, Alert, HandoffId, Increment, KindRule, Mail, MessageId, Request, TaskArchive, Tool,
};
use crate::ledger::{agent, mail, request};
use crate::store::tables::{
    agents, alerts, increments, installation, messages, queue_messages, task_dependencies, tools,
};
use crate::store::{Result, StoreError, Tx};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    pub tasks: u64,
    pub agents: u64,
    pub tools: u64,
    pub requests: u64,
    pub alerts: u64,
    pub increments: u64,
    pub mail: u64,
}

/// Items that may not fit into memory together, read while the import runs. An error aborts the whole import.
pub type ImportSource<T> = Box<
    dyn Iterator<Item = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send,
>;

pub struct Import {
    pub agents: Vec<Agent>,
    pub tools: Vec<Tool>,
    /// Kind rules that replace all existing ones; `None` keeps those.
    pub routes: Option<Vec<KindRule>>,
    /// Oldest first, like all sources except the tasks.
    pub increments: ImportSource<Increment>,
    /// Parents before their children.
    pub tasks: ImportSource<TaskArchive>,
    pub requests: ImportSource<Request>,
    pub alerts: ImportSource<Alert>,
    pub mail: ImportSource<Mail>,
}

impl Default for Import {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            tools: Vec::new(),
            routes: None,
            increments: Box::new(std::iter::empty()),
            tasks: Box::new(std::iter::empty()),
            requests: Box::new(std::iter::empty()),
            alerts: Box::new(std::iter::empty()),
            mail: Box::new(std::iter::empty()),
        }
    }
}

/// Imports everything. Skips agents and tools that exist unchanged.
///
/// Events refer to requests and are immutable; requests refer to tasks. So requests are inserted first and linked to their
/// tasks at the end.
pub fn import(tx: &Tx<'_>, import: Import) -> Result<Imported> {
    let mut imported = Imported::default();
    if installation::mark_agents_seeded(tx)? {
        installation::mark_specialists_seeded(tx)?;
    }
    for agent in &import.agents {
        if agents::find(tx, &agent.name)?.as_ref() != Some(agent) {
            agent::insert(tx, agent)?;
            imported.agents += 1;
        }
    }
    for tool in &import.tools {
        if tools::find(tx, &tool.name)?.as_ref() != Some(tool) {
            tools::insert(tx, tool)?;
            imported.tools += 1;
        }
    }
    if let Some(rules) = &import.routes {
        request::kind_rules::import(tx, rules)?;
    }
    let mut links = Vec::new();
    for request in import.requests {
        links.push(request::import(tx, request.map_err(StoreError::Source)?)?);
        imported.requests += 1;
    }
    for increment in import.increments {
        increments::insert(tx, &increment.map_err(StoreError::Source)?)?;
        imported.increments += 1;
    }
    let jobs = links.iter().filter_map(|link| link.job()).collect();
    // Messages of one family keep their order across its tasks.
    let messages_before = messages::last_number(tx)?;
    let (mut waiting, mut delivered) = (Vec::new(), Vec::new());
    for archive in import.tasks {
        let archive = archive.map_err(StoreError::Source)?;
        let number = import_task(tx, &archive, messages_before, &jobs)?;
        imported.tasks += 1;
        delivered.extend(delivered_to(&archive));
        let depends_on = archive.task.needs.depends_on;
        if !depends_on.is_empty() {
            waiting.push((number, depends_on));
        }
    }
    // A task may depend on a task that was created later.
    for (number, depends_on) in &waiting {
        task_dependencies::insert_all(tx, *number, depends_on)?;
    }
    // A message may have been delivered on a task to which control moved later.
    for (id, handoff_id) in &delivered {
        queue_messages::update_handoff(tx, id, handoff_id)?;
    }
    for link in &links {
        link.link(tx)?;
    }
    for alert in import.alerts {
        alerts::insert(tx, &alert.map_err(StoreError::Source)?)?;
        imported.alerts += 1;
    }
    for mail in import.mail {
        mail::insert(tx, &mail.map_err(StoreError::Source)?)?;
        imported.mail += 1;
    }
    Ok(imported)
}

/// Lists the messages of a task that were delivered, with the hand-offs.
fn delivered_to(archive: &TaskArchive) -> Vec<(MessageId, HandoffId)> {
    let messages = archive.queue.messages.iter();
    messages
        .filter_map(|message| Some((message.id.clone(), message.handoff_id.clone()?)))
        .collect()
}
