//! Ids by their beginning. Every caller that may list a noun may look up its ids: the lists show them all.

use crate::domain::{FoundId, IdPrefix, Noun};
use crate::store::tables::ids;
use crate::store::{Result, View};

/// Lists ids that begin with the prefix: the id that is exactly the prefix first, then the newest.
pub fn list(view: &View<'_>, noun: Noun, prefix: &IdPrefix, limit: u32) -> Result<Vec<FoundId>> {
    let (mut exact, mut longer) = (Vec::new(), Vec::new());
    for spelling in prefix.spellings() {
        exact.extend(ids::find(view, noun, &spelling)?);
        longer.extend(ids::longer(view, noun, &spelling, limit)?);
    }
    longer.sort_by(|one, other| other.id.cmp(&one.id));
    exact.extend(longer);
    exact.truncate(limit as usize);
    Ok(exact)
}
