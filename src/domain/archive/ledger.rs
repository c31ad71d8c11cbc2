//! The part of an archive that belongs to no task and has no file of its own.

use serde::{Deserialize, Serialize};

use crate::domain::{AlertId, RequestId, RequestState, Text, Timestamp};

/// Times and tags that the documented files do not contain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the file ledger.json")]
pub struct LedgerArchive {
    pub seeding: Seeding,
    pub agents: Vec<RowTimes>,
    pub tools: Vec<RowTimes>,
    /// The tags of requests in watched files.
    pub tags: Vec<ArchivedTag>,
    /// The tags of alerts in watched files.
    pub alert_tags: Vec<ArchivedAlertTag>,
}

/// When defaults were added, so that deleted ones stay deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the times of seeding")]
pub struct Seeding {
    pub agents_at: Option<Timestamp>,
    pub specialists_at: Option<Timestamp>,
    pub routes_at: Option<Timestamp>,
    /// When somebody set the kind rules.
    pub routes_chosen_at: Option<Timestamp>,
}

/// The times of an agent or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a name with its times")]
pub struct RowTimes {
    pub name: Text,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The tag of a request, as it was when the file and the request last agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the tag of a request")]
pub struct ArchivedTag {
    pub request_id: RequestId,
    pub file: Text,
    pub state: RequestState,
    pub recoveries: u32,
    pub transitions: u32,
    pub ending: bool,
}

/// Whether a file showed an alert as active when the two last agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the tag of an alert")]
pub struct ArchivedAlertTag {
    pub alert_id: AlertId,
    pub active: bool,
}
