//! The board.

use crate::domain::{Board, BoardColumn, BoardPlace, BoardQuery, StatusName};
use crate::store::tables::board;
use crate::store::{Result, View};

/// The number up to which the tasks of a column are counted.
const COUNTED: u32 = 1000;

/// Reads the first page of every column, or a page of one.
pub fn board(view: &View<'_>, query: &BoardQuery) -> Result<Board> {
    let statuses = match query.status {
        Some(status) => vec![status],
        None => StatusName::ALL.to_vec(),
    };
    let columns = statuses.into_iter().map(|status| {
        if query.filter.is_empty() {
            column(view, query, status)
        } else {
            filtered_column(view, query, status)
        }
    });
    Ok(Board {
        columns: columns.collect::<Result<_>>()?,
    })
}

fn column(view: &View<'_>, query: &BoardQuery, status: StatusName) -> Result<BoardColumn> {
    let after = query.after.unwrap_or(BoardPlace::START);
    let places = board::places(view, status, after, query.limit + 1)?;
    let counted = board::count(view, status, COUNTED + 1)?;
    let has_more = counted > COUNTED.into();
    load(view, query, status, &places, None, (counted, has_more))
}

fn filtered_column(view: &View<'_>, query: &BoardQuery, status: StatusName) -> Result<BoardColumn> {
    let find = |after, most| -> Result<_> {
        let end = board::end_of_scan(view, status, after)?;
        let places = board::matching_places(view, status, &query.filter, after, end, most)?;
        Ok((places, end))
    };
    let most = COUNTED.max(query.limit) + 1;
    let (mut places, mut end) = find(BoardPlace::START, most)?;
    let counted = places.len() as u64;
    let has_more = counted > COUNTED.into() || end.is_some();
    if let Some(after) = query.after {
        (places, end) = find(after, query.limit + 1)?;
    }
    load(view, query, status, &places, end, (counted, has_more))
}

/// Reads the cards of a page, which continues at the place of its last card, or where the search has stopped.
fn load(
    view: &View<'_>,
    query: &BoardQuery,
    status: StatusName,
    places: &[BoardPlace],
    end: Option<BoardPlace>,
    (counted, more): (u64, bool),
) -> Result<BoardColumn> {
    let limit = query.limit as usize;
    let shown = &places[..places.len().min(limit)];
    let next = match shown.last() {
        Some(last) if places.len() > limit => Some(*last),
        _ => end,
    };
    let cards = shown.iter().map(|place| board::card(view, place.number));
    Ok(BoardColumn {
        status,
        total: counted.min(COUNTED.into()),
        more,
        next: next.map(BoardPlace::cursor),
        cards: cards.collect::<Result<_>>()?,
    })
}
