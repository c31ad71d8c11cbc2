//! Finding and listing mail. Neither marks mail as read.

use crate::domain::{AgentName, Mail, MailId, MailQuery, Page, Refusal};
use crate::store::tables::mail::{self as table, StoredMail};
use crate::store::tables::mail_recipients;
use crate::store::{Result, View};

pub fn exists(view: &View<'_>, id: &MailId) -> Result<bool> {
    Ok(table::find_number(view, id)?.is_some())
}

pub fn get(view: &View<'_>, id: &MailId) -> Result<Mail> {
    Ok(load(view, id)?.mail)
}

pub(super) fn load(view: &View<'_>, id: &MailId) -> Result<StoredMail> {
    table::find(view, id)?.ok_or_else(|| Refusal::MailNotFound(id.to_string()).into())
}

pub fn list(view: &View<'_>, query: &MailQuery) -> Result<Page<Mail>> {
    let after_number = match &query.after {
        None => None,
        Some(id) => Some(
            table::find_number(view, id)?.ok_or_else(|| Refusal::MailNotFound(id.to_string()))?,
        ),
    };
    table::page(view, query, after_number)
}

/// Lists the newest mail that an agent has not read or not acknowledged, oldest first, and counts the omitted older mail.
pub fn list_pending(view: &View<'_>, agent: &AgentName, limit: u32) -> Result<(Vec<Mail>, usize)> {
    let mut newest = table::newest_pending(view, agent.as_str(), limit)?;
    newest.reverse();
    if newest.len() < limit as usize {
        return Ok((newest, 0));
    }
    let count = mail_recipients::count_pending(view, agent.as_str())?;
    let older = count.saturating_sub(newest.len());
    Ok((newest, older))
}
