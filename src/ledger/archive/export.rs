//! The pages of an export.

use crate::domain::{Alert, Conversation, Increment, Mail, Request, TaskArchive};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::tables::{
    alerts as alert_table, events, handoffs, increments as increment_table, mail as mail_table,
    messages, queue_messages, requests as request_table,
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
            history: events::of_task(view, number)?.without_numbers(),
            queue: queue_messages::of_task(view, number)?,
            conversation: Conversation {
                messages: messages::archived_of_task(view, number)?,
            },
            folders: stored.folders,
        };
        Ok((number, archive))
    };
    let page = tasks::after(view, after, PAGE)?;
    page.into_iter().map(archive).collect()
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
