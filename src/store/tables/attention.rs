//! Everything that waits for a person: for each kind a page from its own index, newest first.

use crate::domain::{
    AlertId, AttentionItem, AttentionKind, AttentionPlace, HandoffId, IncrementId, MailId,
    Priority, RequestId, TaskId, Text, Timestamp,
};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql, text};

columns! {
    struct ItemRow {
        place: i64 = "place",
        second_place: i64 = "second_place",
        at: Timestamp = "at",
        title: Text = "substr(title, 1, 300)",
        reason: Option<Text> = "substr(reason, 1, 1000)",
        task_id: Option<TaskId> = "task_id",
        request_id: Option<RequestId> = "request_id",
        increment_id: Option<IncrementId> = "increment_id",
        alert_id: Option<AlertId> = "alert_id",
        mail_id: Option<MailId> = "mail_id",
        handoff_id: Option<HandoffId> = "handoff_id",
        agent_name: Option<Text> = "agent_name",
        priority: Option<Priority> = "priority",
    }
}

impl ItemRow {
    fn into_item(self, kind: AttentionKind) -> (AttentionPlace, AttentionItem) {
        let place = (self.place, self.second_place);
        let id = match kind {
            AttentionKind::Request | AttentionKind::StuckRequest => {
                self.request_id.as_ref().map(RequestId::as_str)
            }
            AttentionKind::BlockedIncrement => self.increment_id.as_ref().map(IncrementId::as_str),
            AttentionKind::Alert => self.alert_id.as_ref().map(AlertId::as_str),
            AttentionKind::Mail | AttentionKind::OverdueAcknowledgement => {
                self.mail_id.as_ref().map(MailId::as_str)
            }
            AttentionKind::FailedRun => self.handoff_id.as_ref().map(HandoffId::as_str),
            AttentionKind::BlockedTask => self.task_id.as_ref().map(TaskId::as_str),
        };
        let mut id = format!("{}-{}", kind.as_str(), id.unwrap_or_default());
        if kind == AttentionKind::OverdueAcknowledgement {
            let recipient = self.agent_name.as_ref();
            id = format!("{id}-{}", recipient.map_or("", Text::as_str));
        }
        let item = AttentionItem {
            kind,
            id,
            at: self.at,
            title: self.title,
            reason: self.reason,
            task_id: self.task_id,
            request_id: self.request_id,
            increment_id: self.increment_id,
            alert_id: self.alert_id,
            mail_id: self.mail_id,
            handoff_id: self.handoff_id,
            agent_name: self.agent_name,
            priority: self.priority,
        };
        (place, item)
    }
}

/// The statements of a kind. `$1` is the time. The items are beyond the place `$2`, `$3`, and at most `$4`.
struct Source {
    items: Statement<4>,
    count: Statement<2>,
}

/// Writes the statements of a kind from its columns, its tables with a condition, and its order.
macro_rules! source {
    ($columns:expr, $rows:expr, $place:expr, $second_place:expr) => {
        Source {
            items: sql!(
                "SELECT ",
                ItemRow::COLUMNS,
                " FROM (SELECT $1 AS now, ",
                $place,
                " AS place, ",
                $second_place,
                " AS second_place, ",
                $columns,
                $rows,
                " AND (",
                $place,
                ", ",
                $second_place,
                ") < ($2, $3) ORDER BY ",
                $place,
                " DESC, ",
                $second_place,
                " DESC LIMIT $4)"
            ),
            count: sql!(
                "SELECT count(*) FROM (SELECT $1 AS now",
                $rows,
                " LIMIT $2)"
            ),
        }
    };
}

/// The columns of a request. The reason is that of its last failure.
const REQUEST: &str = "r.updated_at AS at, r.title AS title,
    (SELECT c.reason FROM request_recoveries c WHERE c.request_number = r.number ORDER BY c.number DESC LIMIT 1) AS reason,
    (SELECT t.id FROM tasks t WHERE t.number = r.task_number) AS task_id,
    r.id AS request_id, NULL AS increment_id, NULL AS alert_id, NULL AS mail_id, NULL AS handoff_id,
    NULL AS agent_name, r.priority AS priority";

const MAIL: &str = "NULL AS increment_id, NULL AS alert_id, m.id AS mail_id,
    (SELECT h.id FROM handoffs h WHERE h.number = m.handoff_number) AS handoff_id,
    (SELECT t.id FROM tasks t WHERE t.number = m.task_number) AS task_id, NULL AS request_id, NULL AS priority,
    m.subject AS title";

const fn source(kind: AttentionKind) -> Source {
    const REQUESTS: Source = source!(
        REQUEST,
        " FROM requests r INDEXED BY requests_in_needs
          WHERE r.state = 'needs' AND r.withdrawn_at IS NULL AND r.is_stuck = 0",
        "r.updated_at",
        "r.number"
    );
    const STUCK: Source = source!(
        REQUEST,
        " FROM requests r INDEXED BY requests_in_needs
          WHERE r.state = 'needs' AND r.withdrawn_at IS NULL AND r.is_stuck = 1",
        "r.updated_at",
        "r.number"
    );
    const TASKS: Source = source!(
        "t.updated_at AS at, t.description AS title, t.waiting_reason AS reason, t.id AS task_id,
         NULL AS request_id, NULL AS increment_id, NULL AS alert_id, NULL AS mail_id, NULL AS handoff_id,
         (SELECT h.agent_name FROM handoffs h WHERE h.task_number = t.number ORDER BY h.position DESC LIMIT 1) AS agent_name,
         NULL AS priority",
        " FROM tasks t INDEXED BY tasks_blocked WHERE t.is_blocked = 1 AND t.increment_number IS NULL",
        "t.updated_at",
        "t.number"
    );
    const INCREMENTS: Source = source!(
        "i.updated_at AS at, i.title AS title, i.blocked_by AS reason, NULL AS task_id, NULL AS request_id,
         i.id AS increment_id, NULL AS alert_id, NULL AS mail_id, NULL AS handoff_id, NULL AS agent_name,
         NULL AS priority",
        " FROM increments i INDEXED BY increments_blocked WHERE i.state = 'blocked'",
        "i.updated_at",
        "i.number"
    );
    const ALERTS: Source = source!(
        "a.raised_at AS at, a.message AS title, NULL AS reason,
         (SELECT t.id FROM tasks t WHERE t.number = a.task_number) AS task_id, NULL AS request_id,
         NULL AS increment_id, a.id AS alert_id, NULL AS mail_id, NULL AS handoff_id, a.raised_by AS agent_name,
         NULL AS priority",
        " FROM alerts a INDEXED BY alerts_active WHERE a.resolved_at IS NULL",
        "a.number",
        "a.number"
    );
    const UNREAD: Source = source!(
        text!(
            MAIL,
            ", m.sent_at AS at, nullif(m.body, '') AS reason, m.sender AS agent_name"
        ),
        " FROM mail_recipients p INDEXED BY mail_recipients_unread JOIN mail m ON m.number = p.mail_number
          WHERE p.recipient = 'operator' AND p.read_at IS NULL",
        "p.mail_number",
        "p.mail_number"
    );
    const OVERDUE: Source = source!(
        text!(
            MAIL,
            ", p.ack_due_at AS at, nullif(m.body, '') AS reason, p.recipient AS agent_name"
        ),
        " FROM mail_recipients p INDEXED BY mail_recipients_owing JOIN mail m ON m.number = p.mail_number
          WHERE p.ack_due_at IS NOT NULL AND p.acknowledged_at IS NULL AND p.ack_due_at <= $1",
        "p.ack_due_at",
        "p.number"
    );
    const FAILED: Source = source!(
        "t.failed_at AS at, t.description AS title, nullif(h.output, '') AS reason, t.id AS task_id,
         NULL AS request_id, NULL AS increment_id, NULL AS alert_id, NULL AS mail_id, h.id AS handoff_id,
         h.agent_name AS agent_name, NULL AS priority",
        " FROM tasks t INDEXED BY tasks_failed
          JOIN handoffs h ON h.task_number = t.number
           AND h.position = (SELECT max(l.position) FROM handoffs l WHERE l.task_number = t.number)
         WHERE t.failed_at IS NOT NULL AND t.is_blocked = 0",
        "t.failed_at",
        "t.number"
    );
    match kind {
        AttentionKind::Request => REQUESTS,
        AttentionKind::StuckRequest => STUCK,
        AttentionKind::BlockedTask => TASKS,
        AttentionKind::BlockedIncrement => INCREMENTS,
        AttentionKind::Alert => ALERTS,
        AttentionKind::Mail => UNREAD,
        AttentionKind::OverdueAcknowledgement => OVERDUE,
        AttentionKind::FailedRun => FAILED,
    }
}

/// Lists items of a kind beyond a place, newest first, with their places.
pub fn items(
    view: &View<'_>,
    kind: AttentionKind,
    (place, second_place): AttentionPlace,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<(AttentionPlace, AttentionItem)>> {
    let arguments = params![now, place, second_place, limit];
    view.rows(source(kind).items, arguments, |row| {
        Ok(ItemRow::from_row(row)?.into_item(kind))
    })
}

/// Counts the items of a kind, up to a limit.
pub fn count(view: &View<'_>, kind: AttentionKind, now: Timestamp, limit: u32) -> Result<u64> {
    let arguments = params![now, limit];
    view.one(source(kind).count, arguments, |row| row.get(0))
}
