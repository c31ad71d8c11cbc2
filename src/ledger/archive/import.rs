//! Importing an archive.

use super::task::{Shared, import_task, insert_event};
use crate::domain::{
    Agent, Alert, ArchivedDelegation, Event, HandoffId, Increment, KindRule, LedgerArchive, Mail,
    MessageId, Request, RequestId, Seeding, TaskArchive, Tool,
};
use crate::ledger::{agent, mail, request};
use crate::store::tables::events::{self, EventNumbers};
use crate::store::tables::{
    agents, alerts, archived_links, archived_runs, increments, installation, messages,
    queue_messages, request_tags, requests, task_dependencies, tools,
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
    /// Whether the archive says which agents there are, so that the default ones are not added.
    pub has_agents: bool,
    pub tools: Vec<Tool>,
    pub ledger: LedgerArchive,
    /// The events of no task.
    pub events: Vec<Event>,
    /// Whether all events of the archive have numbers.
    pub is_numbered: bool,
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
            has_agents: false,
            tools: Vec::new(),
            ledger: LedgerArchive::default(),
            events: Vec::new(),
            is_numbered: false,
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
    let (ledger, mut seeding) = (&import.ledger, import.ledger.seeding.clone());
    let has_agents = import.has_agents || !import.agents.is_empty();
    match (has_agents, seeding.agents_at) {
        (true, Some(_)) => {}
        // Archives of earlier versions do not record the seeding.
        (true, None) => {
            (seeding.agents_at, seeding.specialists_at) = (Some(tx.now), Some(tx.now));
        }
        (false, _) => (seeding.agents_at, seeding.specialists_at) = (None, None),
    }
    if import.routes.is_none() {
        seeding.routes_chosen_at = None;
    }
    installation::add_seeding(tx, &seeding)?;
    for agent in &import.agents {
        if agents::find(tx, &agent.name)?.as_ref() != Some(agent) {
            agent::insert(tx, agent)?;
            let times = ledger.agents.iter();
            for times in times.filter(|times| times.name.as_str() == agent.name.as_str()) {
                agents::update_times(tx, times)?;
            }
            imported.agents += 1;
        }
    }
    for tool in &import.tools {
        if tools::find(tx, &tool.name)?.as_ref() != Some(tool) {
            tools::insert(tx, tool)?;
            let times = ledger.tools.iter();
            for times in times.filter(|times| times.name.as_str() == tool.name.as_str()) {
                tools::update_times(tx, times)?;
            }
            imported.tools += 1;
        }
    }
    if let Some(rules) = &import.routes {
        request::kind_rules::import(tx, rules, import.ledger.seeding == Seeding::default())?;
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
    // Messages of one family, and all events, keep their order across tasks.
    let events_before = events::last_number(tx)?;
    let shared = Shared {
        messages_before: messages::last_number(tx)?,
        events_before: import.is_numbered.then_some(events_before),
        jobs: links.iter().filter_map(|link| link.job()).collect(),
    };
    let (mut waiting, mut delivered, mut prompts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut asked, mut unended, mut claimed) = (Vec::new(), Vec::new(), Vec::new());
    for archive in import.tasks {
        let archive = archive.map_err(StoreError::Source)?;
        let (number, runs) = import_task(tx, &archive, &shared)?;
        imported.tasks += 1;
        unended.extend(runs);
        asked.extend(asked_for(&archive));
        claimed.extend(claimed_by(&archive));
        delivered.extend(delivered_to(&archive));
        prompts.extend(archive.links.prompt_messages.clone());
        let depends_on = archive.task.needs.depends_on;
        if !depends_on.is_empty() {
            waiting.push((number, depends_on));
        }
    }
    // A task may depend on a task that was created later.
    for (number, depends_on) in &waiting {
        task_dependencies::insert_all(tx, *number, depends_on)?;
    }
    // Queued runs start in the order of their numbers.
    unended.sort_by_key(|(_, run)| run.queued_at);
    for (handoff_number, run) in &unended {
        archived_runs::insert(tx, *handoff_number, run)?;
    }
    // The named task may be a later one.
    for (id, delegation) in &asked {
        archived_links::insert_delegation(tx, id, delegation)?;
    }
    // A message may have been delivered on a task to which control moved later.
    for (id, handoff_id) in &delivered {
        queue_messages::update_handoff(tx, id, handoff_id)?;
    }
    for id in &prompts {
        queue_messages::mark_as_prompt(tx, id)?;
    }
    for link in &links {
        link.link(tx)?;
    }
    for (request_id, handoff_id) in &claimed {
        archived_links::update_claimant(tx, request_id, handoff_id)?;
    }
    for alert in import.alerts {
        alerts::insert(tx, &alert.map_err(StoreError::Source)?)?;
        imported.alerts += 1;
    }
    for mail in import.mail {
        mail::insert(tx, &mail.map_err(StoreError::Source)?)?;
        imported.mail += 1;
    }
    for event in &import.events {
        let request = event.request_id.as_ref();
        let request = request
            .map(|id| requests::find_number(tx, id))
            .transpose()?;
        let about = EventNumbers {
            request: request.flatten(),
            ..EventNumbers::default()
        };
        insert_event(tx, shared.events_before, about, event)?;
    }
    for tag in &ledger.tags {
        request_tags::insert_archived(tx, tag)?;
    }
    for tag in &ledger.alert_tags {
        alerts::update_archived_tag(tx, tag)?;
    }
    Ok(imported)
}

/// Lists the questions of agents among the hand-offs of a task.
fn asked_for(archive: &TaskArchive) -> Vec<(HandoffId, ArchivedDelegation)> {
    let handoffs = archive.links.handoffs.iter();
    handoffs
        .filter_map(|links| Some((links.handoff_id.clone(), links.delegation.clone()?)))
        .collect()
}

/// Lists the requests that agents have claimed by themselves, with their hand-offs.
fn claimed_by(archive: &TaskArchive) -> Vec<(RequestId, HandoffId)> {
    let links = archive.links.handoffs.iter();
    let claims = links.flat_map(|links| {
        let claims = links.claims.iter();
        claims.map(|request_id| (request_id.clone(), links.handoff_id.clone()))
    });
    claims.collect()
}

/// Lists the messages of a task that were delivered, with the hand-offs.
fn delivered_to(archive: &TaskArchive) -> Vec<(MessageId, HandoffId)> {
    let messages = archive.queue.messages.iter();
    messages
        .filter_map(|message| Some((message.id.clone(), message.handoff_id.clone()?)))
        .collect()
}
