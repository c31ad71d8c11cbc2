//! Ids by a part of them. Every caller that may list a noun may look up its ids: the lists show them all.

use crate::domain::{FoundId, IdPart, Noun};
use crate::store::tables::ids;
use crate::store::{Result, View};

/// Lists ids that begin with a part: the id that is exactly the part first, then the newest.
pub fn beginning(view: &View<'_>, noun: Noun, part: &IdPart, limit: u32) -> Result<Vec<FoundId>> {
    let (mut exact, mut longer) = (Vec::new(), Vec::new());
    for spelling in part.spellings() {
        exact.extend(ids::find(view, noun, &spelling)?);
        longer.extend(ids::longer(view, noun, &spelling, limit)?);
    }
    exact.extend(newest_first(longer));
    exact.truncate(limit as usize);
    Ok(exact)
}

/// Lists ids that begin with a part; if there are none, ids that end with it, newest first.
pub fn beginning_or_ending(
    view: &View<'_>,
    noun: Noun,
    part: &IdPart,
    limit: u32,
) -> Result<Vec<FoundId>> {
    let found = beginning(view, noun, part, limit)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let mut ending = Vec::new();
    for spelling in part.spellings() {
        ending.extend(ids::ending(view, noun, &spelling, limit)?);
    }
    let mut ending = newest_first(ending);
    ending.truncate(limit as usize);
    Ok(ending)
}

fn newest_first(mut ids: Vec<FoundId>) -> Vec<FoundId> {
    ids.sort_by(|one, other| other.id.cmp(&one.id));
    ids
}
