//! Listing messages.

use crate::domain::{Message, MessageQuery, Page, TaskId};
use crate::ledger::task;
use crate::store::tables::messages;
use crate::store::{Result, View};

pub fn of_task(view: &View<'_>, id: &TaskId, query: MessageQuery) -> Result<Page<Message>> {
    let keys = task::keys(view, id)?;
    messages::page_of_task(view, keys.root_number, keys.number, query)
}

/// Lists the messages of all tasks of a task's family, oldest first.
pub fn of_family(view: &View<'_>, id: &TaskId, query: MessageQuery) -> Result<Page<Message>> {
    let keys = task::keys(view, id)?;
    messages::page_of_family(view, keys.root_number, query)
}
