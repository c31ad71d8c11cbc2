//! Ids of all nouns by their beginning.
//!
//! Each statement reads a range of the unique index of `id`, from its end: a new id is greater than the older ones.

use crate::domain::{FoundId, Noun};
use crate::store::{Result, Row, Statement, View, params, sql};

/// Greater than every character that an id may have.
const LAST: char = '~';

const TASK: Statement<1> = sql!("SELECT id, substr(description, 1, 400) FROM tasks WHERE id = $1");
const TASKS: Statement<3> = sql!(
    "SELECT id, substr(description, 1, 400) FROM tasks WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3"
);
const HANDOFF: Statement<1> =
    sql!("SELECT id, agent_name || ': ' || substr(prompt, 1, 400) FROM handoffs WHERE id = $1");
const HANDOFFS: Statement<3> = sql!(
    "SELECT id, agent_name || ': ' || substr(prompt, 1, 400) FROM handoffs
     WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3"
);
const REQUEST: Statement<1> = sql!("SELECT id, title FROM requests WHERE id = $1");
const REQUESTS: Statement<3> =
    sql!("SELECT id, title FROM requests WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3");
const INCREMENT: Statement<1> = sql!("SELECT id, title FROM increments WHERE id = $1");
const INCREMENTS: Statement<3> =
    sql!("SELECT id, title FROM increments WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3");
const ALERT: Statement<1> = sql!("SELECT id, substr(message, 1, 400) FROM alerts WHERE id = $1");
const ALERTS: Statement<3> = sql!(
    "SELECT id, substr(message, 1, 400) FROM alerts WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3"
);
const MAIL: Statement<1> = sql!("SELECT id, subject FROM mail WHERE id = $1");
const MAILS: Statement<3> =
    sql!("SELECT id, subject FROM mail WHERE id > $1 AND id < $2 ORDER BY id DESC LIMIT $3");

const fn one_and_many(noun: Noun) -> (Statement<1>, Statement<3>) {
    match noun {
        Noun::Task => (TASK, TASKS),
        Noun::Handoff => (HANDOFF, HANDOFFS),
        Noun::Request => (REQUEST, REQUESTS),
        Noun::Increment => (INCREMENT, INCREMENTS),
        Noun::Alert => (ALERT, ALERTS),
        Noun::Mail => (MAIL, MAILS),
    }
}

fn from_row(row: &Row<'_>) -> Result<FoundId> {
    let (id, text): (String, String) = (row.get(0)?, row.get(1)?);
    Ok(FoundId::new(id, &text))
}

/// Finds an id that is spelled exactly like this.
pub fn find(view: &View<'_>, noun: Noun, id: &str) -> Result<Option<FoundId>> {
    view.row(one_and_many(noun).0, params![id], from_row)
}

/// Lists longer ids that begin with the prefix, greatest first. The prefix must have the characters of an id only.
pub fn longer(view: &View<'_>, noun: Noun, prefix: &str, limit: u32) -> Result<Vec<FoundId>> {
    let end = format!("{prefix}{LAST}");
    let arguments = params![prefix, end, limit];
    view.rows(one_and_many(noun).1, arguments, from_row)
}
