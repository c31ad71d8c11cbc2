//! Everything that waits for a person.

use std::collections::VecDeque;

use crate::domain::{Attention, AttentionCursor, AttentionKind, Timestamp};
use crate::store::tables::attention;
use crate::store::{Result, View};

/// The number up to which the items of a kind are counted.
const COUNTED: u32 = 1000;

/// Lists the items of all kinds after a position, newest first. Returns the cursor of the next page with them.
pub fn attention(
    view: &View<'_>,
    mut after: AttentionCursor,
    now: Timestamp,
    limit: u32,
) -> Result<(Attention, Option<String>)> {
    let (mut total, mut more) = (0, false);
    let mut waiting = Vec::new();
    for kind in AttentionKind::ALL {
        let counted = attention::count(view, kind, now, COUNTED + 1)?;
        total += counted.min(COUNTED.into());
        more |= counted > COUNTED.into();
        let items = attention::items(view, kind, after.place(kind), now, limit + 1)?;
        waiting.push(VecDeque::from(items));
    }
    // Merge the kinds: the newest of their next items comes first.
    let mut items = Vec::new();
    let has_more = loop {
        let next = waiting.iter_mut().rev().max_by_key(|items| {
            let next = items.front();
            next.map(|(_, item)| item.at)
        });
        let Some((place, item)) = next.and_then(VecDeque::pop_front) else {
            break false;
        };
        if items.len() == limit as usize {
            break true;
        }
        after.pass(item.kind, place);
        items.push(item);
    };
    let next = has_more.then(|| after.text());
    Ok((Attention { total, more, items }, next))
}
