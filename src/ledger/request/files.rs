//! Reconciling requests with the tags of watched files.

use crate::domain::{
    Actor, Agreement, Comparison, EventKind, FileAlert, FileTag, FollowedText, KnownTag,
    NewRequest, Outcome, Request, RequestId, RequestSource, RequestSourceType, RequestState, RunId,
    Text, Transition, match_moved_tags, match_tags,
};
use crate::ledger::alert::{self, AlertTagChange};
use crate::ledger::handoff;
use crate::store::tables::request_tags::{self, RequestTag};
use crate::store::tables::requests::{self, StoredRequest};
use crate::store::tables::runs;
use crate::store::{Result, Tx, View};
use crate::words;

use super::create::create;
use super::find::load;
use super::transition::{record, save, transition};

/// The current tags of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesReport {
    pub files: Vec<FileReport>,
    /// Whether a tag `delegated` or `next` counts as approval.
    pub file_approval: bool,
}

/// The current tags of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// An absolute path.
    pub file: Text,
    /// The watched tree of the file, where its requests are worked on.
    pub root: Text,
    pub tags: Vec<FileTag>,
    pub alerts: Vec<FileAlert>,
}

/// The work that is left after reconciling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Request tags that must be rewritten.
    pub changes: Vec<TagChange>,
    /// Alert tags that must be rewritten.
    pub alerts: Vec<AlertTagChange>,
    /// Runs that must be stopped.
    pub unwanted: Vec<RunId>,
}

/// A tag that must be rewritten to the state of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagChange {
    pub file: Text,
    pub root: Text,
    /// 1-based.
    pub line: u32,
    pub title: String,
    /// The state in the file now.
    pub was: RequestState,
    /// The number of recoveries that the file already shows.
    pub recoveries_told: u32,
    /// Whether the file needs the link to the response.
    pub needs_link: bool,
    pub request: Request,
}

/// A request and its tag, as they were when they last agreed.
struct Tagged {
    stored: StoredRequest,
    tag: RequestTag,
}

impl Tagged {
    fn load(view: &View<'_>, tag: RequestTag) -> Result<Self> {
        Ok(Self {
            stored: load(view, &tag.request_id)?,
            tag,
        })
    }

    fn known(&self) -> KnownTag {
        KnownTag {
            kind: self.stored.request.kind.clone(),
            state: self.tag.state,
            title: self.stored.request.title.to_string(),
            line: self.stored.request.source.line,
        }
    }
}

/// A tag and its position in a file.
struct Found<'a> {
    file: &'a FileReport,
    tag: &'a FileTag,
}

/// Reconciles requests and alerts with the tags of files.
pub fn reconcile_files(tx: &mut Tx<'_>, report: &FilesReport) -> Result<Reconciled> {
    let mut reconciled = Reconciled::default();
    let (mut pairs, mut new, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for file in &report.files {
        let mut known = Vec::new();
        for tag in request_tags::of_file(tx, &file.file)? {
            known.push(Some(Tagged::load(tx, tag)?));
        }
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
        let alerts = alert::reconcile_file(tx, &file.file, &file.root, &file.alerts)?;
        reconciled.alerts.extend(alerts);
    }
    pair_moved(&mut pairs, &mut new, &mut missing);
    for (found, tagged) in pairs {
        reconcile(tx, report, &found, tagged, &mut reconciled)?;
    }
    for found in new {
        add(tx, report, &found, &mut reconciled)?;
    }
    for tagged in missing {
        withdraw(tx, tagged)?;
    }
    Ok(reconciled)
}

/// Pairs new tags with missing ones: the tag was moved from one file to another.
fn pair_moved<'a>(
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

/// Creates the request of a new tag, or restores an earlier one.
fn add(
    tx: &mut Tx<'_>,
    report: &FilesReport,
    found: &Found<'_>,
    reconciled: &mut Reconciled,
) -> Result<()> {
    let Found { file, tag } = found;
    if let Some(earlier) = request_tags::find_earlier(tx, &tag.kind, &tag.title, &file.file)? {
        let tagged = Tagged::load(tx, earlier)?;
        return reconcile(tx, report, found, tagged, reconciled);
    }
    // Chorus never had a request for a tag that was `claimed` or `done` when first seen.
    if matches!(tag.state, RequestState::Claimed | RequestState::Done) {
        return Ok(());
    }
    let new = NewRequest {
        id: RequestId::new(),
        title: Text::lossy(tag.title.clone()),
        body: Text::lossy(tag.body.clone()),
        kind: tag.kind.clone(),
        priority: tag.priority.unwrap_or_default(),
        effort: tag.effort,
        source: RequestSource {
            source_type: RequestSourceType::File,
            file: Some(file.file.clone()),
            line: Some(tag.line),
            ..RequestSource::default()
        },
        agent_workspace: Some(file.root.clone()),
    };
    let tagged = Tagged {
        stored: create(tx, &new, &Actor::File)?,
        tag: RequestTag {
            request_id: new.id,
            state: RequestState::Needs,
            recoveries: 0,
            transitions: 1,
            is_ending: false,
        },
    };
    reconcile(tx, report, found, tagged, reconciled)
}

/// Reconciles a request with its tag.
fn reconcile(
    tx: &mut Tx<'_>,
    report: &FilesReport,
    found: &Found<'_>,
    tagged: Tagged,
    reconciled: &mut Reconciled,
) -> Result<()> {
    let Tagged {
        mut stored,
        tag: mut known,
    } = tagged;
    follow_text(tx, &mut stored, found)?;
    let file = found.tag.state;
    let agreement = Agreement::decide(&Comparison {
        request: stored.request.state,
        agreed: known.state,
        since: stored.request.transitions_after(known.transitions),
        file,
        is_running: is_running(tx, &stored)?,
        file_approves: report.file_approval,
    });
    let was_ending = std::mem::replace(&mut known.is_ending, agreement == Agreement::LetFinish);
    match agreement {
        Agreement::Agree | Agreement::UpdateFile => {}
        Agreement::LetFinish => {
            if !was_ending {
                let file = found.file.file.clone();
                record(tx, &stored, EventKind::RequestEnding { file })?;
            }
        }
        Agreement::IgnoreFile => {
            let ignored = EventKind::RequestTagIgnored {
                file: found.file.file.clone(),
                state: file,
                reason: words::FILES_DO_NOT_APPROVE,
            };
            record(tx, &stored, ignored)?;
            // The tag is restored at the next write of the file.
            agree(&mut known, &stored, file);
        }
        Agreement::FollowFile => {
            // The end of the hand-off must not take the tag's word of before.
            request_tags::update_is_ending(tx, stored.number, false)?;
            reconciled
                .unwanted
                .extend(follow_state(tx, &stored, found)?);
            stored = load(tx, &stored.request.id)?;
            // A reopened request takes the current text of the file.
            follow_text(tx, &mut stored, found)?;
        }
    }
    let request = &stored.request;
    let is_by_file = request
        .transitions
        .last()
        .is_some_and(Transition::is_by_file);
    let needs_link =
        request.state == RequestState::Done && known.state != RequestState::Done && !is_by_file;
    if request.state == file && !needs_link {
        agree(&mut known, &stored, file);
    }
    let recovered = u32::try_from(request.recovery.len()).unwrap_or(u32::MAX);
    let is_stale = request.state != file && agreement != Agreement::LetFinish;
    if is_stale || needs_link || known.recoveries < recovered {
        reconciled.changes.push(TagChange {
            file: found.file.file.clone(),
            root: found.file.root.clone(),
            line: found.tag.line,
            title: found.tag.title.clone(),
            was: file,
            recoveries_told: known.recoveries,
            needs_link,
            request: request.clone(),
        });
    }
    request_tags::upsert(tx, stored.number, &found.file.file, &known)
}

/// Notes that the file says `state`, after all transitions that the request has now.
fn agree(tag: &mut RequestTag, stored: &StoredRequest, state: RequestState) {
    tag.state = state;
    tag.transitions = stored.request.transition_count();
}

/// Whether an agent of this server is working on a request.
fn is_running(view: &View<'_>, stored: &StoredRequest) -> Result<bool> {
    match stored.handoff_number {
        Some(number) if !stored.is_job => runs::has_running(view, number),
        _ => Ok(false),
    }
}

/// Updates a request from the text around its tag.
fn follow_text(tx: &mut Tx<'_>, stored: &mut StoredRequest, found: &Found<'_>) -> Result<()> {
    let FileReport { file, root, .. } = found.file;
    let followed = FollowedText::apply(&mut stored.request, found.tag, file, root);
    if followed.is_changed {
        save(tx, stored)?;
    }
    if followed.is_restored {
        let file = file.clone();
        record(tx, stored, EventKind::RequestRestored { file })?;
    }
    if followed.is_edited {
        let title = stored.request.title.clone();
        record(tx, stored, EventKind::RequestEdited { title })?;
    }
    Ok(())
}

/// Moves a request to the state in its file, even if the state machine has no such step. Returns the run that must be stopped.
fn follow_state(
    tx: &mut Tx<'_>,
    stored: &StoredRequest,
    found: &Found<'_>,
) -> Result<Option<RunId>> {
    let state = found.tag.state;
    let reason = Text::lossy(format!(
        "{}:{} says #{}-{}",
        found.file.file,
        found.tag.line,
        state.as_str(),
        found.tag.kind
    ));
    let mut unwanted = None;
    // A finished request of a batch does not end the work on the others.
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
        unwanted = handoff::end_by_number(tx, handoff_number, outcome, &reason)?;
    }
    let mut stored = load(tx, &stored.request.id)?;
    if stored.request.state != state {
        if state.is_approval() {
            stored.request.approved_at = Some(tx.now);
        }
        if state == RequestState::Done {
            stored.request.response = Some(reason.clone());
        }
        transition(tx, &mut stored, state, &Actor::File, Some(reason))?;
    }
    Ok(unwanted)
}

/// Withdraws a request whose tag is gone. A finished request stays done, and the same tag may return as new work.
fn withdraw(tx: &mut Tx<'_>, tagged: Tagged) -> Result<()> {
    let mut stored = tagged.stored;
    if stored.request.state == RequestState::Done {
        // A file without its `done` tag may be half written; the tag is rewritten when the file is back.
        if tagged.tag.state == RequestState::Done {
            request_tags::delete(tx, stored.number)?;
        }
        return Ok(());
    }
    if stored.request.withdrawn_at.is_none() {
        stored.request.withdrawn_at = Some(tx.now);
        save(tx, &mut stored)?;
        let file = stored.request.source.file.clone().unwrap_or_default();
        record(tx, &stored, EventKind::RequestWithdrawn { file })?;
    }
    Ok(())
}

/// Records what a file shows now: the request as it was when the tag was composed.
pub fn record_written_tag(tx: &Tx<'_>, written: &Request) -> Result<()> {
    let recoveries = u32::try_from(written.recovery.len()).unwrap_or(u32::MAX);
    let transitions = written.transition_count();
    request_tags::update(tx, &written.id, written.state, recoveries, transitions)
}

/// Records that an agent started although the files of its requests do not say `claimed`.
pub fn record_late_tags(tx: &mut Tx<'_>, handoff_number: i64) -> Result<()> {
    for (id, file) in request_tags::list_unclaimed(tx, handoff_number)? {
        let stored = load(tx, &id)?;
        record(tx, &stored, EventKind::RequestTagLate { file })?;
    }
    Ok(())
}

/// Lists the files with tags of requests and alerts, or only those with stale tags.
pub fn tagged_files(view: &View<'_>, only_stale: bool) -> Result<Vec<Text>> {
    request_tags::list_files(view, only_stale)
}
