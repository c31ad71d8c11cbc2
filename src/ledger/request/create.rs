//! Creating a request.

use crate::domain::{Actor, EventKind, NewRequest, RequestState, Text, Transition};
use crate::ledger::{history, task};
use crate::store::tables::request_transitions;
use crate::store::tables::requests::{self, StoredRequest};
use crate::store::{Result, Tx};

use super::find::load;

/// Creates a request, and records it in the history of its source task too.
pub fn create(tx: &mut Tx<'_>, new: &NewRequest, by: &Actor) -> Result<StoredRequest> {
    let source_task = new.source.task_id.as_ref();
    let keys = source_task.map(|id| task::keys(tx, id)).transpose()?;
    let number = requests::insert(tx, new, keys.as_ref().map(|keys| keys.number))?;
    let beginning = Transition {
        from: None,
        to: RequestState::Needs,
        by: Text::lossy(by.name().to_owned()),
        at: tx.now,
        reason: None,
    };
    request_transitions::insert(tx, number, &beginning, *by == Actor::File)?;
    let created = load(tx, &new.id)?;
    let kind = EventKind::RequestCreated {
        title: new.title.clone(),
        kind: new.kind.clone(),
        priority: new.priority,
    };
    let about = history::About {
        on: source_task.zip(keys.as_ref()).map(|(id, keys)| keys.on(id)),
        handoff: None,
        request: Some((&created.request.id, number)),
    };
    history::record_about(tx, about, kind)?;
    Ok(created)
}
