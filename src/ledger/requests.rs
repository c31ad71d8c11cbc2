//! The table `requests` with its transitions and recoveries: making, loading and changing one.

use crate::domain::{
    Actor, Effort, EventKind, HandoffId, Lease, NewRequest, Priority, Recovery, Refusal, Request,
    RequestId, RequestMove, RequestSource, RequestSourceType, RequestState, RunId, TaskId, Text,
    Timestamp, Transition,
};
use crate::ledger::{history, task};
use crate::store::tables::handoffs;
use crate::store::{
    Item, Page, RequestQuery, Result, Row, Statement, StoreError, Tx, View, params, sql,
};

/// A request with what only the store knows of it.
pub(crate) struct StoredRequest {
    pub number: i64,
    pub task_number: Option<i64>,
    pub handoff_number: Option<i64>,
    /// Whether its hand-off only starts a job elsewhere.
    pub is_job: bool,
    pub request: Request,
}

/// A transition, as [`select_requests`] packs it.
type PackedTransition = (
    i64,
    Option<RequestState>,
    RequestState,
    Text,
    Timestamp,
    Option<Text>,
);

/// A recovery, as [`select_requests`] packs it.
type PackedRecovery = (i64, Timestamp, Text, Option<RunId>, Text);

/// Selects whole requests, each in one row and so at one moment.
macro_rules! select_requests {
    () => {
        "SELECT r.number, r.id, r.title, r.body, r.kind, r.state, r.priority, r.effort, r.source_type,
                (SELECT s.id FROM tasks s WHERE s.number = r.source_task_number), r.source_file, r.source_line,
                r.source_user_id, (SELECT t.id FROM tasks t WHERE t.number = r.task_number), r.response, r.attempts,
                r.lease_agent, r.lease_expires_at,
                (SELECT json_group_array(json_array(x.number, x.from_state, x.to_state, x.moved_by, x.moved_at, x.reason))
                   FROM request_transitions x WHERE x.request_number = r.number),
                (SELECT json_group_array(json_array(c.number, c.recovered_at, c.reason, c.earlier_run_id, c.action))
                   FROM request_recoveries c WHERE c.request_number = r.number),
                r.created_at, r.updated_at, r.approved_at, r.is_stuck, r.withdrawn_at,
                (SELECT h.id FROM handoffs h WHERE h.number = r.handoff_number), r.job_id, r.agent_workspace,
                r.task_number, r.handoff_number, r.is_job
           FROM requests r"
    };
}
pub(crate) use select_requests;

pub(crate) fn from_row(row: &Row<'_>) -> Result<StoredRequest> {
    let attempts = row.unsigned(15)?;
    let lease = match (row.optional_parsed(16)?, row.optional_timestamp(17)?) {
        (Some(agent), Some(expires_at)) => Some(Lease {
            agent,
            fencing: attempts,
            expires_at,
        }),
        _ => None,
    };
    let mut transitions: Vec<PackedTransition> = row.json(18)?;
    transitions.sort_unstable_by_key(|packed| packed.0);
    let mut recovery: Vec<PackedRecovery> = row.json(19)?;
    recovery.sort_unstable_by_key(|packed| packed.0);
    let request = Request {
        id: row.parsed(1)?,
        title: row.text(2)?,
        body: row.text(3)?,
        kind: row.parsed(4)?,
        state: row.word(5, RequestState::parse)?,
        priority: priority(row, 6)?,
        effort: row.optional_word(7, Effort::parse)?,
        source: RequestSource {
            source_type: row.word(8, RequestSourceType::parse)?,
            task_id: row.optional_parsed(9)?,
            file: row.optional_text(10)?,
            line: row.optional_unsigned(11)?,
            user_id: row.optional_text(12)?,
        },
        task_id: row.optional_parsed(13)?,
        response: row.optional_text(14)?,
        attempts,
        lease,
        transitions: transitions.into_iter().map(unpack_transition).collect(),
        recovery: recovery.into_iter().map(unpack_recovery).collect(),
        created_at: row.timestamp(20)?,
        updated_at: row.timestamp(21)?,
        approved_at: row.optional_timestamp(22)?,
        stuck: row.integer(23)? != 0,
        withdrawn_at: row.optional_timestamp(24)?,
        handoff_id: row.optional_parsed(25)?,
        job_id: row.optional_text(26)?,
        agent_workspace: row.optional_text(27)?,
    };
    Ok(StoredRequest {
        number: row.integer(0)?,
        task_number: row.optional_integer(28)?,
        handoff_number: row.optional_integer(29)?,
        is_job: row.integer(30)? != 0,
        request,
    })
}

/// Reads a priority.
pub(crate) fn priority(row: &Row<'_>, column: usize) -> Result<Priority> {
    Priority::from_number(row.integer(column)?)
        .ok_or_else(|| StoreError::inconsistent("a priority that there is not"))
}

fn unpack_transition((_, from, to, by, at, reason): PackedTransition) -> Transition {
    Transition {
        from,
        to,
        by,
        at,
        reason,
    }
}

fn unpack_recovery((_, date, reason, earlier_run, action): PackedRecovery) -> Recovery {
    Recovery {
        date,
        reason,
        earlier_run,
        action,
    }
}

/// Selects whole requests behind a number.
pub(crate) const SELECT_ARCHIVE: Statement<2> = sql!(
    select_requests!(),
    " WHERE r.number > $1 ORDER BY r.number LIMIT $2"
);

const SELECT_ONE: Statement<1> = sql!(select_requests!(), " WHERE r.id = $1");

const SELECT_NUMBER: Statement<1> = sql!("SELECT number FROM requests WHERE id = $1");

/// Loads the request that an operation is about.
pub(crate) fn load(tx: &Tx<'_>, id: &RequestId) -> Result<StoredRequest> {
    tx.row(SELECT_ONE, params![id.as_str()], |row| from_row(row))?
        .ok_or_else(|| Refusal::RequestNotFound(id.to_string()).into())
}

/// Finds the number of a request.
pub(crate) fn number(view: &View<'_>, id: &RequestId) -> Result<Option<i64>> {
    view.row(SELECT_NUMBER, params![id.as_str()], |row| row.integer(0))
}

/// Loads the requests that a hand-off works on, in order.
pub(crate) fn of_handoff(tx: &Tx<'_>, handoff_number: i64) -> Result<Vec<StoredRequest>> {
    const OF_HANDOFF: Statement<1> = sql!(
        select_requests!(),
        " WHERE r.handoff_number = $1 ORDER BY r.number"
    );
    tx.rows(OF_HANDOFF, params![handoff_number], |row| from_row(row))
}

/// Makes a request.
pub(crate) fn create(tx: &mut Tx<'_>, new: &NewRequest, by: &Actor) -> Result<StoredRequest> {
    let source_task = new.source.task_id.as_ref();
    let place = source_task.map(|id| task::keys(tx, id)).transpose()?;
    let number = tx.insert(
        sql!(
            "INSERT INTO requests (id, kind, state, priority, effort, created_at, updated_at, source_type,
                                   source_task_number, source_file, source_line, source_user_id, agent_workspace, title,
                                   body)
             VALUES ($1, $2, 'needs', $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        ),
        params![
            new.id.as_str(),
            new.kind.as_str(),
            new.priority.number(),
            new.effort.map(Effort::as_str),
            tx.now.as_millis(),
            new.source.source_type.as_str(),
            place.as_ref().map(|place| place.number),
            new.source.file.as_ref().map(Text::as_str),
            new.source.line,
            new.source.user_id.as_ref().map(Text::as_str),
            new.agent_workspace.as_ref().map(Text::as_str),
            new.title.as_str(),
            new.body.as_str(),
        ],
    )?;
    let beginning = Transition {
        from: None,
        to: RequestState::Needs,
        by: Text::lossy(by.name().to_owned()),
        at: tx.now,
        reason: None,
    };
    insert_transition(tx, number, &beginning, *by == Actor::File)?;
    let created = load(tx, &new.id)?;
    let kind = EventKind::RequestCreated {
        title: new.title.clone(),
        kind: new.kind.clone(),
        priority: new.priority,
    };
    // Whoever follows the task sees what was left behind.
    let about = history::About {
        on: source_task
            .zip(place.as_ref())
            .map(|(id, place)| place.on(id)),
        handoff: None,
        request: Some((&created.request.id, number)),
    };
    history::record_about(tx, about, kind)?;
    Ok(created)
}

/// Inserts a transition's row.
pub(crate) fn insert_transition(
    tx: &Tx<'_>,
    request_number: i64,
    transition: &Transition,
    is_by_file: bool,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO request_transitions (request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason)
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        ),
        params![
            request_number,
            transition.from.map(RequestState::as_str),
            transition.to.as_str(),
            transition.by.as_str(),
            transition.at.as_millis(),
            is_by_file,
            transition.reason.as_ref().map(Text::as_str),
        ],
    )?;
    Ok(())
}

/// Inserts a recovery's row.
pub(crate) fn insert_recovery(tx: &Tx<'_>, request_number: i64, recovery: &Recovery) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO request_recoveries (request_number, recovered_at, reason, earlier_run_id, action)
             VALUES ($1, $2, $3, $4, $5)"
        ),
        params![
            request_number,
            recovery.date.as_millis(),
            recovery.reason.as_str(),
            recovery.earlier_run.as_ref().map(RunId::as_str),
            recovery.action.as_str(),
        ],
    )?;
    Ok(())
}

impl StoredRequest {
    /// Returns where a step leads, or why it is not possible.
    pub fn after(&self, step: RequestMove) -> Result<RequestState> {
        let Request {
            id,
            state,
            lease,
            withdrawn_at,
            ..
        } = &self.request;
        // Work on what was withdrawn may still end.
        if withdrawn_at.is_some() && *state != RequestState::Claimed {
            return Err(Refusal::Withdrawn(id.clone()).into());
        }
        state.after(step).ok_or_else(|| {
            Refusal::WrongState {
                id: id.clone(),
                state: *state,
                holder: lease.as_ref().map(|lease| lease.agent.clone()),
                step,
            }
            .into()
        })
    }

    /// Moves it to a state and writes that down, with all that has changed of it. Where a state leads is asked before.
    pub fn move_to(
        &mut self,
        tx: &mut Tx<'_>,
        to: RequestState,
        by: &Actor,
        reason: Option<Text>,
    ) -> Result<()> {
        let from = self.request.state;
        if to != RequestState::Claimed {
            self.request.lease = None;
            self.request.handoff_id = None;
            self.handoff_number = None;
        }
        if to != RequestState::Done {
            self.request.response = None;
        }
        if to != RequestState::Needs {
            self.request.stuck = false;
        }
        self.request.state = to;
        self.save(tx)?;
        let moved = Transition {
            from: Some(from),
            to,
            by: Text::lossy(by.name().to_owned()),
            at: tx.now,
            reason,
        };
        insert_transition(tx, self.number, &moved, *by == Actor::File)?;
        self.request.transitions.push(moved.clone());
        self.record(tx, EventKind::RequestMoved(moved))
    }

    /// Writes down all of it that can change.
    pub fn save(&mut self, tx: &Tx<'_>) -> Result<()> {
        self.request.updated_at = tx.now;
        let request = &self.request;
        let lease = request.lease.as_ref();
        tx.execute(
            sql!(
                "UPDATE requests SET state = $1, updated_at = $2, approved_at = $3, attempts = $4, is_stuck = $5,
                                     withdrawn_at = $6, lease_agent = $7, lease_expires_at = $8, source_file = $9,
                                     source_line = $10, task_number = $11, handoff_number = $12, is_job = $13, job_id = $14,
                                     title = $15, body = $16, response = $17, priority = $18, effort = $19,
                                     agent_workspace = $20
                  WHERE number = $21"
            ),
            params![
                request.state.as_str(),
                request.updated_at.as_millis(),
                request.approved_at.map(Timestamp::as_millis),
                request.attempts,
                request.stuck,
                request.withdrawn_at.map(Timestamp::as_millis),
                lease.map(|lease| lease.agent.as_str()),
                lease.map(|lease| lease.expires_at.as_millis()),
                request.source.file.as_ref().map(Text::as_str),
                request.source.line,
                self.task_number,
                self.handoff_number,
                self.is_job,
                request.job_id.as_ref().map(Text::as_str),
                request.title.as_str(),
                request.body.as_str(),
                request.response.as_ref().map(Text::as_str),
                request.priority.number(),
                request.effort.map(Effort::as_str),
                request.agent_workspace.as_ref().map(Text::as_str),
                self.number,
            ],
        )?;
        Ok(())
    }

    /// Writes down what happened to it, also in the history of the task on which it is worked.
    pub fn record(&self, tx: &mut Tx<'_>, kind: EventKind) -> Result<()> {
        let task_id = self.request.task_id.as_ref();
        let place = task_id.map(|id| task::keys(tx, id)).transpose()?;
        let handoff_id: Option<&HandoffId> = self.request.handoff_id.as_ref();
        // A tool may have passed control to another task, whose history is another one.
        let of_task = place.as_ref().map(|place| place.number);
        let handoff_number = match self.handoff_number {
            Some(number) if handoffs::find_task_number(tx, number)? == of_task => Some(number),
            _ => None,
        };
        let about = history::About {
            on: task_id.zip(place.as_ref()).map(|(id, place)| place.on(id)),
            handoff: handoff_id.zip(handoff_number),
            request: Some((&self.request.id, self.number)),
        };
        history::record_about(tx, about, kind)
    }

    /// Sets the task on which it is worked.
    pub fn set_task(&mut self, id: &TaskId, number: i64) {
        self.request.task_id = Some(id.clone());
        self.task_number = Some(number);
    }
}

pub(crate) fn find(view: &View<'_>, id: &RequestId) -> Result<Option<Request>> {
    view.row(SELECT_ONE, params![id.as_str()], |row| {
        Ok(from_row(row)?.request)
    })
}

/// How requests are put into pages.
const REQUESTS: Item<Request> = Item {
    from_row: |row| Ok(from_row(row)?.request),
    size: |request| {
        let response = request.response.as_ref();
        request.body.as_str().len() + response.map_or(0, |response| response.as_str().len())
    },
    name: |request| request.id.to_string(),
};

/// Lists requests, oldest first or newest first.
pub(crate) fn list(view: &View<'_>, asked: &RequestQuery) -> Result<Page<Request>> {
    const OLDEST_OF_STATE: Statement<6> = sql!(
        select_requests!(),
        " WHERE r.state = $1 AND r.number > $2 AND ($3 IS NULL OR r.kind = $3) AND ($4 IS NULL OR r.priority = $4)
            AND (r.withdrawn_at IS NOT NULL) = $5
          ORDER BY r.number LIMIT $6"
    );
    const NEWEST_OF_STATE: Statement<6> = sql!(
        select_requests!(),
        " WHERE r.state = $1 AND r.number < $2 AND ($3 IS NULL OR r.kind = $3) AND ($4 IS NULL OR r.priority = $4)
            AND (r.withdrawn_at IS NOT NULL) = $5
          ORDER BY r.number DESC LIMIT $6"
    );
    const OLDEST: Statement<5> = sql!(
        select_requests!(),
        " WHERE r.number > $1 AND ($2 IS NULL OR r.kind = $2) AND ($3 IS NULL OR r.priority = $3)
            AND (r.withdrawn_at IS NOT NULL) = $4
          ORDER BY r.number LIMIT $5"
    );
    const NEWEST: Statement<5> = sql!(
        select_requests!(),
        " WHERE r.number < $1 AND ($2 IS NULL OR r.kind = $2) AND ($3 IS NULL OR r.priority = $3)
            AND (r.withdrawn_at IS NOT NULL) = $4
          ORDER BY r.number DESC LIMIT $5"
    );
    let after = match &asked.after {
        None if asked.newest => i64::MAX,
        None => 0,
        Some(id) => number(view, id)?.ok_or_else(|| Refusal::RequestNotFound(id.to_string()))?,
    };
    let kind = asked.kind.as_ref().map(ToString::to_string);
    let priority = asked.priority.map(Priority::number);
    let (withdrawn, limit) = (asked.withdrawn, asked.limit);
    let more = limit + 1;
    let state = asked.state.map(RequestState::as_str);
    match (state, asked.newest) {
        (Some(state), false) => view.page(
            OLDEST_OF_STATE,
            params![state, after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
        (Some(state), true) => view.page(
            NEWEST_OF_STATE,
            params![state, after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
        (None, false) => view.page(
            OLDEST,
            params![after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
        (None, true) => view.page(
            NEWEST,
            params![after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
    }
}
