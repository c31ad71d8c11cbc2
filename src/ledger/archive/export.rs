//! The pages of an export.

use crate::domain::{
    Alert, Conversation, Event, Increment, LedgerArchive, Mail, Request, Runs, TaskArchive,
};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::tables::{
    agents, alerts as alert_table, archived_links, archived_runs, events as event_table, handoffs,
    increments as increment_table, installation, mail as mail_table, messages, queue_messages,
    request_tags, requests as request_table, tools,
};
use crate::store::{Result, StoreError, View};

const PAGE: u32 = 100;

/// A page of rows with their numbers; the last number is the cursor of the next page.
pub type Numbered<T> = Vec<(i64, T)>;

pub fn count_tasks(view: &View<'_>) -> Result<u64> {
    tasks::count(view)
}

pub fn tasks(view: &View<'_>, after: i64) -> Result<Numbered<TaskArchive>> {
    let archive = |stored: StoredTask| {
        let number = stored.number;
        let chain = handoffs::with_requests(view, number)?;
        let task = stored.task.with_agent_chain(chain);
        let archive = TaskArchive {
            task: task.map_err(StoreError::inconsistent)?,
            history: event_table::of_task(view, number)?,
            queue: queue_messages::of_task(view, number)?,
            conversation: Conversation {
                messages: messages::archived_of_task(view, number)?,
            },
            runs: Some(Runs {
                runs: archived_runs::of_task(view, number)?,
            }),
            links: archived_links::of_task(view, number)?,
            folders: stored.folders,
        };
        Ok((number, archive))
    };
    let page = tasks::after(view, after, PAGE)?;
    page.into_iter().map(archive).collect()
}

/// Reads what belongs to no task and has no file of its own.
pub fn ledger(view: &View<'_>) -> Result<LedgerArchive> {
    Ok(LedgerArchive {
        seeding: installation::seeding(view)?,
        agents: agents::times(view)?,
        tools: tools::times(view)?,
        tags: request_tags::archived(view)?,
        alert_tags: alert_table::archived_tags(view)?,
    })
}

/// Lists events of no task.
pub fn events(view: &View<'_>, after: i64) -> Result<Numbered<Event>> {
    let page = event_table::alone_after(view, after, PAGE)?;
    let numbered = page
        .into_iter()
        .map(|event| (event.number.unwrap_or(i64::MAX), event));
    Ok(numbered.collect())
}

pub fn requests(view: &View<'_>, after: i64) -> Result<Numbered<Request>> {
    let page = request_table::after(view, after, PAGE)?;
    let numbered = |stored: request_table::StoredRequest| (stored.number, stored.request);
    Ok(page.into_iter().map(numbered).collect())
}

pub fn alerts(view: &View<'_>, after: i64) -> Result<Numbered<Alert>> {
    alert_table::after(view, after, PAGE)
}

pub fn increments(view: &View<'_>, after: i64) -> Result<Numbered<Increment>> {
    let page = increment_table::after(view, after, PAGE)?;
    let numbered = page
        .into_iter()
        .map(|stored| (stored.number, stored.increment));
    Ok(numbered.collect())
}

pub fn mail(view: &View<'_>, after: i64) -> Result<Numbered<Mail>> {
    let page = mail_table::after(view, after, PAGE)?;
    let numbered = page.into_iter().map(|stored| (stored.number, stored.mail));
    Ok(numbered.collect())
}
