//! Ids of all nouns by their beginning or end.
//!
//! A beginning is a range of the unique index of `id`, read from its end: a new id is greater than the older ones.
//!
//! For an end, the whole index is read, and no row of the table but those that are found. An index on the last characters would find
//! them at once, but its entries are in random order, so each new row would write one more page. That costs every hand-off more than
//! it saves the person who types an end now and then.

use crate::domain::{FoundId, Noun};
use crate::store::{Result, Row, Statement, View, params, sql};

/// Greater than every character that an id may have.
const LAST: char = '~';

/// The statements of one noun.
struct Lookup {
    exact: Statement<1>,
    longer: Statement<3>,
    ending: Statement<2>,
}

/// Writes the statements of a noun from its table and the expression of its title.
macro_rules! lookup {
    ($table:literal, $title:literal) => {{
        const EXACT: Statement<1> = sql!("SELECT id, ", $title, " FROM ", $table, " WHERE id = $1");
        const LONGER: Statement<3> = sql!(
            "SELECT id, ",
            $title,
            " FROM ",
            $table,
            " WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        );
        const ENDING: Statement<2> = sql!(
            "SELECT id, ",
            $title,
            " FROM ",
            $table,
            " WHERE id IN (SELECT id FROM ",
            $table,
            " WHERE substr(id, -length($1)) = $1 ORDER BY id DESC LIMIT $2) ORDER BY id DESC"
        );
        Lookup {
            exact: EXACT,
            longer: LONGER,
            ending: ENDING,
        }
    }};
}

const fn lookup(noun: Noun) -> Lookup {
    match noun {
        Noun::Task => lookup!("tasks", "substr(description, 1, 400)"),
        Noun::Handoff => lookup!("handoffs", "agent_name || ': ' || substr(prompt, 1, 400)"),
        Noun::Request => lookup!("requests", "title"),
        Noun::Increment => lookup!("increments", "title"),
        Noun::Alert => lookup!("alerts", "substr(message, 1, 400)"),
        Noun::Mail => lookup!("mail", "subject"),
    }
}

fn from_row(row: &Row<'_>) -> Result<FoundId> {
    let (id, text): (String, String) = (row.get(0)?, row.get(1)?);
    Ok(FoundId::new(id, &text))
}

/// Finds an id that is spelled exactly like this.
pub fn find(view: &View<'_>, noun: Noun, id: &str) -> Result<Option<FoundId>> {
    view.row(lookup(noun).exact, params![id], from_row)
}

/// Lists longer ids that begin with the prefix, greatest first. The prefix must have the characters of an id only.
pub fn longer(view: &View<'_>, noun: Noun, prefix: &str, limit: u32) -> Result<Vec<FoundId>> {
    let end = format!("{prefix}{LAST}");
    let arguments = params![prefix, end, limit];
    view.rows(lookup(noun).longer, arguments, from_row)
}

/// Lists ids that end with the part, greatest first.
pub fn ending(view: &View<'_>, noun: Noun, part: &str, limit: u32) -> Result<Vec<FoundId>> {
    view.rows(lookup(noun).ending, params![part, limit], from_row)
}
