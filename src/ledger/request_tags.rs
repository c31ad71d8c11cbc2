//! The table `request_tags`: requests whose tags stand in watched files, and what is done where the two differ.

use super::file_alerts;
use super::requests::{self, StoredRequest};
use crate::domain::{
    Actor, Agreement, EventKind, FileTag, KnownTag, NewRequest, Outcome, RequestId, RequestSource,
    RequestSourceType, RequestState, RunId, Text, match_moved_tags, match_tags, without_states,
};
use crate::ledger::handoff;
use crate::store::{
    FileReport, FilesReport, Reconciled, Result, Row, TagChange, Tx, View, params, sql,
};

/// Why a file's word does not count.
const FILES_DO_NOT_APPROVE: &str =
    "files do not approve here (--no-file-approval); the tag is put back";

/// A request whose tag stands in a file.
struct Tagged {
    stored: StoredRequest,
    /// What the file said when the two agreed last.
    agreed: RequestState,
    /// How many of its recoveries the file tells of.
    recoveries: u32,
}

impl Tagged {
    fn known(&self) -> KnownTag {
        KnownTag {
            kind: self.stored.request.kind.clone(),
            state: self.agreed,
            title: self.stored.request.title.to_string(),
            line: self.stored.request.source.line,
        }
    }
}

/// A tag of a file, and where it is.
struct Found<'a> {
    file: &'a FileReport,
    tag: &'a FileTag,
}

/// Brings requests and alerts into agreement with what files say now.
pub(crate) fn reconcile(tx: &mut Tx<'_>, report: &FilesReport) -> Result<Reconciled> {
    let mut reconciled = Reconciled::default();
    let (mut pairs, mut new, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for file in &report.files {
        let mut known: Vec<_> = of_file(tx, &file.file)?.into_iter().map(Some).collect();
        let was: Vec<_> = known.iter().flatten().map(Tagged::known).collect();
        let mut is_new = vec![true; file.tags.len()];
        for (found, old) in match_tags(&file.tags, &was) {
            is_new[found] = false;
            let tag = &file.tags[found];
            pairs.extend(known[old].take().map(|old| (Found { file, tag }, old)));
        }
        let left = file.tags.iter().zip(is_new).filter(|(_, is_new)| *is_new);
        new.extend(left.map(|(tag, _)| Found { file, tag }));
        missing.extend(known.into_iter().flatten());
        file_alerts::reconcile(tx, file, &mut reconciled)?;
    }
    follow_moved(&mut pairs, &mut new, &mut missing);
    for (found, tagged) in pairs {
        settle(tx, report, &found, tagged, &mut reconciled)?;
    }
    for found in new {
        take_up(tx, report, &found, &mut reconciled)?;
    }
    for tagged in missing {
        withdraw(tx, tagged)?;
    }
    Ok(reconciled)
}

/// Finds tags that went from one file to another.
fn follow_moved<'a>(
    pairs: &mut Vec<(Found<'a>, Tagged)>,
    new: &mut Vec<Found<'a>>,
    missing: &mut Vec<Tagged>,
) {
    let tags: Vec<_> = new.iter().map(|found| found.tag.clone()).collect();
    let known: Vec<_> = missing.iter().map(Tagged::known).collect();
    let mut found: Vec<_> = new.drain(..).map(Some).collect();
    let mut old: Vec<_> = missing.drain(..).map(Some).collect();
    for (to, from) in match_moved_tags(&tags, &known) {
        pairs.extend(found[to].take().zip(old[from].take()));
    }
    new.extend(found.into_iter().flatten());
    missing.extend(old.into_iter().flatten());
}

/// Loads the requests whose tags stand in a file, in the order of their lines.
fn of_file(tx: &Tx<'_>, file: &Text) -> Result<Vec<Tagged>> {
    let rows = tx.rows(
        sql!(
            "SELECT r.id, t.state, t.recoveries FROM request_tags t JOIN requests r ON r.number = t.request_number
              WHERE t.file = $1 ORDER BY r.source_line, r.number"
        ),
        params![file.as_str()],
        |row| tagged(row),
    )?;
    rows.into_iter().map(|row| load(tx, row)).collect()
}

type TagRow = (RequestId, RequestState, u32);

fn tagged(row: &Row<'_>) -> Result<TagRow> {
    Ok((
        row.parsed(0)?,
        row.word(1, RequestState::parse)?,
        row.unsigned(2)?,
    ))
}

fn load(tx: &Tx<'_>, (id, agreed, recoveries): TagRow) -> Result<Tagged> {
    Ok(Tagged {
        stored: requests::load(tx, &id)?,
        agreed,
        recoveries,
    })
}

/// Finds the last request that asked for the same and was withdrawn, or came from an archive, which has no tags.
fn revivable(tx: &Tx<'_>, found: &Found<'_>) -> Result<Option<Tagged>> {
    let row = tx.row(
        sql!(
            "SELECT r.id, coalesce(t.state, r.state), coalesce(t.recoveries, 0)
               FROM requests r LEFT JOIN request_tags t ON t.request_number = r.number
              WHERE r.kind = $1 AND r.title = $2 AND r.source_type = 'file'
                AND (r.withdrawn_at IS NOT NULL OR (t.request_number IS NULL AND r.source_file = $3))
                AND r.state <> 'done'
              ORDER BY r.number DESC LIMIT 1"
        ),
        params![
            found.tag.kind.as_str(),
            found.tag.title,
            found.file.file.as_str()
        ],
        |row| tagged(row),
    )?;
    row.map(|row| load(tx, row)).transpose()
}

/// Makes or revives the request of a tag that is new.
fn take_up(
    tx: &mut Tx<'_>,
    report: &FilesReport,
    found: &Found<'_>,
    reconciled: &mut Reconciled,
) -> Result<()> {
    if let Some(tagged) = revivable(tx, found)? {
        return settle(tx, report, found, tagged, reconciled);
    }
    // What was claimed or done before Chorus looked is not its business.
    if matches!(found.tag.state, RequestState::Claimed | RequestState::Done) {
        return Ok(());
    }
    let new = NewRequest {
        id: RequestId::new(),
        title: Text::lossy(found.tag.title.clone()),
        body: Text::lossy(found.tag.body.clone()),
        kind: found.tag.kind.clone(),
        priority: found.tag.priority.unwrap_or_default(),
        effort: found.tag.effort,
        source: RequestSource {
            source_type: RequestSourceType::File,
            file: Some(found.file.file.clone()),
            line: Some(found.tag.line),
            ..RequestSource::default()
        },
        agent_workspace: Some(found.file.root.clone()),
    };
    let tagged = Tagged {
        stored: requests::create(tx, &new, &Actor::File)?,
        agreed: RequestState::Needs,
        recoveries: 0,
    };
    settle(tx, report, found, tagged, reconciled)
}

/// Brings a request and its tag into agreement.
fn settle(
    tx: &mut Tx<'_>,
    report: &FilesReport,
    found: &Found<'_>,
    tagged: Tagged,
    reconciled: &mut Reconciled,
) -> Result<()> {
    let Tagged {
        mut stored,
        mut agreed,
        recoveries,
    } = tagged;
    refresh(tx, &mut stored, found)?;
    let file = found.tag.state;
    match Agreement::decide(stored.request.state, agreed, file) {
        Agreement::Agree | Agreement::Write => {}
        Agreement::Take if !report.file_approval && needs_approval(stored.request.state, file) => {
            let ignored = EventKind::RequestTagIgnored {
                file: found.file.file.clone(),
                state: file,
                reason: FILES_DO_NOT_APPROVE,
            };
            stored.record(tx, ignored)?;
            // It is known now, and is put back as soon as the file can be written.
            agreed = file;
        }
        Agreement::Take => {
            reconciled.unwanted.extend(force(tx, &stored, found)?);
            stored = requests::load(tx, &stored.request.id)?;
            // What was done may be open again, and asks for what the file says now.
            refresh(tx, &mut stored, found)?;
        }
    }
    if stored.request.state == file {
        agreed = file;
    }
    let told = u32::try_from(stored.request.recovery.len()).unwrap_or(u32::MAX);
    if stored.request.state != file || recoveries < told {
        reconciled.changes.push(TagChange {
            file: found.file.file.clone(),
            root: found.file.root.clone(),
            line: found.tag.line,
            title: found.tag.title.clone(),
            was: file,
            recoveries_told: recoveries,
            request: stored.request.clone(),
        });
    }
    write(tx, &stored, &found.file.file, agreed, recoveries)
}

const fn is_approval(state: RequestState) -> bool {
    matches!(state, RequestState::Delegated | RequestState::Next)
}

/// Tells whether only an operator may do what somebody wrote into a file: leave `needs`, or let the dispatcher go on.
const fn needs_approval(from: RequestState, to: RequestState) -> bool {
    is_approval(to) || matches!(from, RequestState::Needs)
}

/// Takes over what the text around a tag says now.
fn refresh(tx: &mut Tx<'_>, stored: &mut StoredRequest, found: &Found<'_>) -> Result<()> {
    let FileTag {
        line,
        title,
        body,
        priority,
        effort,
        ..
    } = found.tag;
    let request = &mut stored.request;
    let is_restored = request.withdrawn_at.take().is_some();
    let source = (Some(found.file.file.clone()), Some(*line));
    let is_moved = (request.source.file.clone(), request.source.line) != source;
    (request.source.file, request.source.line) = source;
    // What somebody works on is what they were asked.
    let can_change = !matches!(request.state, RequestState::Claimed | RequestState::Done);
    let now = (
        Text::lossy(title.clone()),
        Text::lossy(body.clone()),
        priority.unwrap_or_default(),
        *effort,
    );
    let before = (
        request.title.clone(),
        request.body.clone(),
        request.priority,
        request.effort,
    );
    let same_text =
        |one: &Text, other: &Text| without_states(one.as_str()) == without_states(other.as_str());
    let is_same =
        (&now.0, now.2, now.3) == (&before.0, before.2, before.3) && same_text(&now.1, &before.1);
    let is_edited = can_change && !is_same;
    let workspace = Some(found.file.root.clone());
    let is_elsewhere = can_change && request.agent_workspace != workspace;
    if is_elsewhere {
        request.agent_workspace = workspace;
    }
    if is_edited {
        (
            request.title,
            request.body,
            request.priority,
            request.effort,
        ) = now;
    }
    if is_restored || is_moved || is_edited || is_elsewhere {
        stored.save(tx)?;
    }
    if is_restored {
        let file = found.file.file.clone();
        stored.record(tx, EventKind::RequestRestored { file })?;
    }
    if is_edited {
        let title = stored.request.title.clone();
        stored.record(tx, EventKind::RequestEdited { title })?;
    }
    Ok(())
}

/// Moves a request where its file says that it is, whatever the order of states. Returns the run that is no longer needed.
fn force(tx: &mut Tx<'_>, stored: &StoredRequest, found: &Found<'_>) -> Result<Option<RunId>> {
    let state = found.tag.state;
    let says = Text::lossy(format!(
        "{}:{} says #{}-{}",
        found.file.file,
        found.tag.line,
        state.as_str(),
        found.tag.kind
    ));
    let mut unwanted = None;
    // What one of a batch says of itself does not end the work on the others.
    let is_shared = state == RequestState::Done
        && match stored.handoff_number {
            Some(number) => requests::of_handoff(tx, number)?.len() > 1,
            None => false,
        };
    if let Some(handoff_number) = stored.handoff_number.filter(|_| !is_shared) {
        let outcome = match state {
            RequestState::Done => Outcome::Completed,
            _ => Outcome::Cancelled,
        };
        unwanted = handoff::end_by_number(tx, handoff_number, outcome, &says)?;
    }
    let mut stored = requests::load(tx, &stored.request.id)?;
    if stored.request.state != state {
        if is_approval(state) {
            stored.request.approved_at = Some(tx.now);
        }
        if state == RequestState::Done {
            stored.request.response = Some(says.clone());
        }
        stored.move_to(tx, state, &Actor::File, Some(says))?;
    }
    Ok(unwanted)
}

/// Withdraws a request whose tag is gone. What is done stays done, and its tag may come again as new work.
fn withdraw(tx: &mut Tx<'_>, tagged: Tagged) -> Result<()> {
    let mut stored = tagged.stored;
    if stored.request.state == RequestState::Done {
        // A file that has not said so yet may only be half written, and is to say it when it is back.
        if tagged.agreed == RequestState::Done {
            tx.execute(
                sql!("DELETE FROM request_tags WHERE request_number = $1"),
                params![stored.number],
            )?;
        }
        return Ok(());
    }
    if stored.request.withdrawn_at.is_none() {
        stored.request.withdrawn_at = Some(tx.now);
        stored.save(tx)?;
        let file = stored.request.source.file.clone().unwrap_or_default();
        stored.record(tx, EventKind::RequestWithdrawn { file })?;
    }
    Ok(())
}

/// Writes down where the tag of a request stands, and what the two agree on.
fn write(
    tx: &Tx<'_>,
    stored: &StoredRequest,
    file: &Text,
    agreed: RequestState,
    recoveries: u32,
) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO request_tags (request_number, file, state, recoveries) VALUES ($1, $2, $3, $4)
             ON CONFLICT (request_number) DO UPDATE SET file = $2, state = $3, recoveries = $4"
        ),
        params![stored.number, file.as_str(), agreed.as_str(), recoveries],
    )?;
    Ok(())
}

/// Records that a file says now what it was to say.
pub(crate) fn written(
    tx: &Tx<'_>,
    id: &RequestId,
    state: RequestState,
    recoveries: u32,
) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE request_tags SET state = $1, recoveries = $2
              WHERE request_number = (SELECT number FROM requests WHERE id = $3)"
        ),
        params![state.as_str(), recoveries, id.as_str()],
    )?;
    Ok(())
}

/// Lists the files with tags, or those of them alone that do not say yet what became of their requests and alerts.
pub(crate) fn files(view: &View<'_>, only_stale: bool) -> Result<Vec<Text>> {
    view.rows(sql!(
            "SELECT t.file FROM request_tags t JOIN requests r ON r.number = t.request_number
              WHERE r.withdrawn_at IS NULL
                AND ($1 = 0 OR t.state <> r.state
                     OR t.recoveries < (SELECT count(*) FROM request_recoveries c WHERE c.request_number = r.number))
             UNION
             SELECT a.file FROM alerts a
              WHERE a.file IS NOT NULL AND ($1 = 0 OR (a.is_active_in_file = 1 AND a.resolved_at IS NOT NULL))"
        ), params![only_stale], |row| row.text(0))
}
