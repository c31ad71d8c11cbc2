//! The table `request_tags`: the tags of requests in watched files.

use crate::domain::{ArchivedTag, Kind, RequestId, RequestState, Text};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, params, sql};

columns! {
    /// The tag of a request, as it was when the file and the request last agreed.
    pub struct RequestTag {
        pub request_id: RequestId = "r.id",
        pub state: RequestState = "coalesce(t.state, r.state)",
        /// The number of recoveries that the file shows.
        pub recoveries: u32 = "coalesce(t.recoveries, 0)",
        /// The number of transitions that the request had then.
        pub transitions: u32 = "coalesce(t.transitions, (SELECT count(*) FROM request_transitions m WHERE m.request_number = r.number))",
        /// Whether the file says `done` while the agent still runs.
        pub is_ending: bool = "coalesce(t.is_ending, 0)",
    }
}

/// Lists the tags of a file by line.
pub fn of_file(view: &View<'_>, file: &Text) -> Result<Vec<RequestTag>> {
    const OF_FILE: Statement<1> = sql!(
        "SELECT ",
        RequestTag::COLUMNS,
        " FROM request_tags t JOIN requests r ON r.number = t.request_number
         WHERE t.file = $1 ORDER BY r.source_line, r.number"
    );
    view.rows(OF_FILE, params![file], RequestTag::from_row)
}

columns! {
    struct ArchivedRow {
        request_id: RequestId = "r.id",
        file: Text = "t.file",
        state: RequestState = "t.state",
        recoveries: u32 = "t.recoveries",
        transitions: u32 = "t.transitions",
        is_ending: bool = "t.is_ending",
    }
}

/// Lists all tags for an archive.
pub fn archived(view: &View<'_>) -> Result<Vec<ArchivedTag>> {
    const ARCHIVED: Statement<0> = sql!(
        "SELECT ",
        ArchivedRow::COLUMNS,
        " FROM request_tags t JOIN requests r ON r.number = t.request_number ORDER BY t.request_number"
    );
    view.rows(ARCHIVED, params![], |row| {
        let row = ArchivedRow::from_row(row)?;
        Ok(ArchivedTag {
            request_id: row.request_id,
            file: row.file,
            state: row.state,
            recoveries: row.recoveries,
            transitions: row.transitions,
            ending: row.is_ending,
        })
    })
}

/// Inserts the tag of an imported request, if the request is in the ledger and comes from a file.
pub fn insert_archived(tx: &Tx<'_>, tag: &ArchivedTag) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT OR IGNORE INTO request_tags (request_number, file, state, recoveries, transitions, is_ending)
             SELECT number, $1, $2, $3, $4, $5 FROM requests WHERE id = $6 AND source_type = 'file'"
        ),
        params![
            tag.file,
            tag.state,
            tag.recoveries,
            tag.transitions,
            tag.ending,
            tag.request_id
        ],
    )?;
    Ok(())
}

/// Finds the newest open request of a file with the same text that was withdrawn, or was imported without its tag.
pub fn find_earlier(
    view: &View<'_>,
    kind: &Kind,
    title: &str,
    file: &Text,
) -> Result<Option<RequestTag>> {
    const EARLIER: Statement<3> = sql!(
        "SELECT ",
        RequestTag::COLUMNS,
        " FROM requests r LEFT JOIN request_tags t ON t.request_number = r.number
         WHERE r.kind = $1 AND r.title = $2 AND r.source_type = 'file'
           AND (r.withdrawn_at IS NOT NULL OR (t.request_number IS NULL AND r.source_file = $3))
           AND r.state <> 'done'
         ORDER BY r.number DESC LIMIT 1"
    );
    view.row(EARLIER, params![kind, title, file], RequestTag::from_row)
}

/// Saves the position of a request's tag, and the state on which the tag and the request agree.
pub fn upsert(tx: &Tx<'_>, request_number: i64, file: &Text, tag: &RequestTag) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO request_tags (request_number, file, state, recoveries, transitions, is_ending)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (request_number)
             DO UPDATE SET file = $2, state = $3, recoveries = $4, transitions = $5, is_ending = $6"
        ),
        params![
            request_number,
            file,
            tag.state,
            tag.recoveries,
            tag.transitions,
            tag.is_ending
        ],
    )?;
    Ok(())
}

/// Saves what a file shows now, and how many transitions its request had when that was composed.
pub fn update(
    tx: &Tx<'_>,
    id: &RequestId,
    state: RequestState,
    recoveries: u32,
    transitions: u32,
) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE request_tags SET state = $1, recoveries = $2, transitions = $3, is_ending = 0
              WHERE request_number = (SELECT number FROM requests WHERE id = $4)"
        ),
        params![state, recoveries, transitions, id],
    )?;
    Ok(())
}

/// Saves whether the tag says `done` while the agent still runs.
pub fn update_is_ending(tx: &Tx<'_>, request_number: i64, is_ending: bool) -> Result<()> {
    tx.execute(
        sql!("UPDATE request_tags SET is_ending = $1 WHERE request_number = $2"),
        params![is_ending, request_number],
    )?;
    Ok(())
}

/// Whether the tag says `done` while the agent still runs.
pub fn is_ending(view: &View<'_>, request_number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM request_tags WHERE request_number = $1 AND is_ending = 1"),
        params![request_number],
    )
}

/// Lists the requests of a hand-off whose files do not say `claimed` yet, with these files.
pub fn list_unclaimed(view: &View<'_>, handoff_number: i64) -> Result<Vec<(RequestId, Text)>> {
    view.rows(
        sql!(
            "SELECT r.id, t.file FROM requests r JOIN request_tags t ON t.request_number = r.number
              WHERE r.handoff_number = $1 AND r.withdrawn_at IS NULL AND t.state <> 'claimed'
              ORDER BY r.number"
        ),
        params![handoff_number],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}

pub fn delete(tx: &Tx<'_>, request_number: i64) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM request_tags WHERE request_number = $1"),
        params![request_number],
    )?;
    Ok(())
}

/// Lists the files with tags of requests and alerts, or only those with stale tags.
pub fn list_files(view: &View<'_>, only_stale: bool) -> Result<Vec<Text>> {
    view.rows(
        sql!(
            "SELECT t.file FROM request_tags t JOIN requests r ON r.number = t.request_number
              WHERE r.withdrawn_at IS NULL
                AND ($1 = 0 OR t.state <> r.state
                     OR t.recoveries < (SELECT count(*) FROM request_recoveries c WHERE c.request_number = r.number))
             UNION
             SELECT a.file FROM alerts a
              WHERE a.file IS NOT NULL AND ($1 = 0 OR (a.is_active_in_file = 1 AND a.resolved_at IS NOT NULL))"
        ),
        params![only_stale],
        |row| row.get(0),
    )
}
