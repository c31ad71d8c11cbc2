//! Checks the times of an archive.
//!
//! The ledger's time continues after its newest time, so one time in the future would set its clock forward for good.

use crate::domain::{
    Alert, Conversation, History, Increment, LedgerArchive, Mail, Queue, Request, RowTimes, Runs,
    Task, TaskLinks, Timestamp,
};

/// The last millisecond of the year 9999.
const LAST: Timestamp = Timestamp::from_millis(253_402_300_799_999);

/// The tolerated lead of the clock that wrote the archive: a day.
const LEAD: i64 = 24 * 60 * 60 * 1000;

/// Times with their keys.
type Times = Vec<(&'static str, Option<Timestamp>)>;

/// A file with times.
pub(super) trait Timed {
    /// Lists the times of what has happened.
    fn times(&self) -> Times;

    /// Lists the times that may be in the future.
    fn deadlines(&self) -> Times {
        Vec::new()
    }
}

/// Describes the first time that is outside the years of clocks, or is more than a day after `now`.
pub(super) fn problem_of(file: &impl Timed, now: Timestamp) -> Option<String> {
    let latest = Timestamp::from_millis(now.as_millis().saturating_add(LEAD)).min(LAST);
    let recorded = file.times().into_iter().map(|time| (time, latest));
    let deadlines = file.deadlines().into_iter().map(|time| (time, LAST));
    recorded.chain(deadlines).find_map(|((key, time), latest)| {
        let time = time?;
        let millis = time.as_millis();
        if millis < 0 || time > LAST {
            return Some(format!("`{key}` is {millis}, which is not a time between 1970 and 9999"));
        }
        let ahead = (millis - now.as_millis()) / LEAD;
        (time > latest).then(|| {
            format!("`{key}` is {millis}, which is {ahead} × 24 hours after this machine's time; correct the time in the file")
        })
    })
}

impl Timed for Task {
    fn times(&self) -> Times {
        let mut times = vec![
            ("createdAt", Some(self.created_at)),
            ("updatedAt", Some(self.updated_at)),
        ];
        for entry in self.agent_chain() {
            times.push(("startedAt", Some(entry.started_at)));
            times.push(("completedAt", entry.end.as_ref().map(|end| end.at)));
        }
        let attachments = self.attachments.iter();
        times.extend(attachments.map(|attachment| ("uploadedAt", Some(attachment.uploaded_at))));
        times
    }
}

impl Timed for History {
    fn times(&self) -> Times {
        let events = self.events.iter();
        events
            .map(|event| ("timestamp", Some(event.timestamp)))
            .collect()
    }
}

impl Timed for Queue {
    fn times(&self) -> Times {
        let messages = self.messages.iter();
        messages
            .flat_map(|message| {
                [
                    ("receivedAt", Some(message.received_at)),
                    ("deliveredAt", message.delivered_at),
                ]
            })
            .collect()
    }
}

impl Timed for Conversation {
    fn times(&self) -> Times {
        let messages = self.messages.iter();
        messages
            .map(|message| ("timestamp", Some(message.timestamp)))
            .collect()
    }
}

impl Timed for Runs {
    fn times(&self) -> Times {
        let runs = self.runs.iter();
        runs.flat_map(|run| {
            [
                ("queuedAt", Some(run.queued_at)),
                ("startedAt", run.started_at),
                ("endedAt", run.ended_at),
                ("launchedAt", run.launched_at),
                ("failingSince", run.failing_since),
            ]
        })
        .collect()
    }
}

impl Timed for TaskLinks {
    fn times(&self) -> Times {
        let handoffs = self.handoffs.iter();
        handoffs
            .flat_map(|links| {
                let delegation = links.delegation.as_ref();
                [
                    ("reportedAt", links.reported_at),
                    (
                        "deliveredAt",
                        delegation.and_then(|asked| asked.delivered_at),
                    ),
                ]
            })
            .collect()
    }
}

impl Timed for Request {
    fn times(&self) -> Times {
        let mut times = vec![
            ("createdAt", Some(self.created_at)),
            ("updatedAt", Some(self.updated_at)),
            ("approvedAt", self.approved_at),
            ("withdrawnAt", self.withdrawn_at),
        ];
        times.extend(
            self.transitions
                .iter()
                .map(|change| ("at", Some(change.at))),
        );
        times.extend(
            self.recovery
                .iter()
                .map(|recovery| ("date", Some(recovery.date))),
        );
        times
    }

    fn deadlines(&self) -> Times {
        let lease = self.lease.as_ref();
        vec![("expiresAt", lease.map(|lease| lease.expires_at))]
    }
}

impl Timed for Alert {
    fn times(&self) -> Times {
        vec![
            ("raisedAt", Some(self.raised_at)),
            ("resolvedAt", self.resolved_at),
        ]
    }
}

impl Timed for Increment {
    fn times(&self) -> Times {
        vec![
            ("createdAt", Some(self.created_at)),
            ("updatedAt", Some(self.updated_at)),
        ]
    }
}

impl Timed for Mail {
    fn times(&self) -> Times {
        let mut times = vec![("sentAt", Some(self.sent_at))];
        for recipient in &self.recipients {
            times.push(("deliveredAt", recipient.delivered_at));
            times.push(("readAt", recipient.read_at));
            times.push(("acknowledgedAt", recipient.acknowledged_at));
        }
        times
    }

    fn deadlines(&self) -> Times {
        vec![("ackDueAt", self.ack_due_at)]
    }
}

impl Timed for LedgerArchive {
    fn times(&self) -> Times {
        let seeding = &self.seeding;
        let mut times = vec![
            ("agentsAt", seeding.agents_at),
            ("specialistsAt", seeding.specialists_at),
            ("routesAt", seeding.routes_at),
            ("routesChosenAt", seeding.routes_chosen_at),
        ];
        let rows = self.agents.iter().chain(&self.tools);
        times.extend(rows.flat_map(
            |RowTimes {
                 created_at,
                 updated_at,
                 ..
             }| {
                [
                    ("createdAt", Some(*created_at)),
                    ("updatedAt", Some(*updated_at)),
                ]
            },
        ));
        times
    }
}
