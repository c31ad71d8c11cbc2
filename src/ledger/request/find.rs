//! Finding requests.

use crate::domain::{Page, Refusal, Request, RequestId, RequestQuery};
use crate::store::tables::requests::{self, StoredRequest};
use crate::store::{Result, View};

pub fn get(view: &View<'_>, id: &RequestId) -> Result<Request> {
    Ok(load(view, id)?.request)
}

pub fn load(view: &View<'_>, id: &RequestId) -> Result<StoredRequest> {
    requests::find(view, id)?.ok_or_else(|| Refusal::RequestNotFound(id.to_string()).into())
}

pub fn exists(view: &View<'_>, id: &RequestId) -> Result<bool> {
    Ok(requests::find_number(view, id)?.is_some())
}

pub fn list(view: &View<'_>, query: &RequestQuery) -> Result<Page<Request>> {
    let after = match &query.after {
        None => None,
        Some(id) => Some(
            requests::find_number(view, id)?
                .ok_or_else(|| Refusal::RequestNotFound(id.to_string()))?,
        ),
    };
    requests::page(view, query, after)
}
