//! Finding alerts.

use crate::domain::{Alert, AlertId, AlertQuery, Page, Refusal};
use crate::store::tables::alerts;
use crate::store::{Result, View};

pub fn get(view: &View<'_>, id: &AlertId) -> Result<Alert> {
    alerts::find(view, id)?.ok_or_else(|| Refusal::AlertNotFound(id.to_string()).into())
}

pub fn exists(view: &View<'_>, id: &AlertId) -> Result<bool> {
    Ok(alerts::find_number(view, id)?.is_some())
}

pub fn list(view: &View<'_>, query: &AlertQuery) -> Result<Page<Alert>> {
    let after = match &query.after {
        None => 0,
        Some(id) => {
            alerts::find_number(view, id)?.ok_or_else(|| Refusal::AlertNotFound(id.to_string()))?
        }
    };
    alerts::page(view, query, after)
}
