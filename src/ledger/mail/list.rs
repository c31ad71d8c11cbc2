//! Finding and listing mail, which stays as unread as it was.

use crate::domain::{AgentName, Mail, MailId, MailQuery, Page, Refusal};
use crate::store::tables::mail::{self as table, StoredMail};
use crate::store::tables::mail_recipients;
use crate::store::{Result, View};

/// Tells whether there is a mail with this id.
pub fn exists(view: &View<'_>, id: &MailId) -> Result<bool> {
    Ok(table::find_number(view, id)?.is_some())
}

/// Finds a mail.
pub fn get(view: &View<'_>, id: &MailId) -> Result<Mail> {
    Ok(load(view, id)?.mail)
}

/// Loads a mail with its number.
pub(super) fn load(view: &View<'_>, id: &MailId) -> Result<StoredMail> {
    table::find(view, id)?.ok_or_else(|| Refusal::MailNotFound(id.to_string()).into())
}

/// Lists mail, oldest first.
pub fn list(view: &View<'_>, query: &MailQuery) -> Result<Page<Mail>> {
    let after_number = match &query.after {
        None => 0,
        Some(id) => {
            table::find_number(view, id)?.ok_or_else(|| Refusal::MailNotFound(id.to_string()))?
        }
    };
    table::page(view, query, after_number)
}

/// Lists the newest mail that an agent has not read or has not acknowledged, oldest first, and counts the older mail of that kind.
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
