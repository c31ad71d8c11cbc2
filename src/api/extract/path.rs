//! Path parameters.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::caller;
use crate::Error;
use crate::api::App;
use crate::domain::{
    AgentName, AlertId, HandoffId, IncrementId, MailId, MessageId, RequestId, SessionId, TaskId,
    ToolName,
};

/// The only parameter of a path, unparsed.
pub(in crate::api) struct Segment(pub String);

impl FromRequestParts<App> for Segment {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        Path::<String>::from_request_parts(parts, app)
            .await
            .map(|Path(text)| Self(text))
            .map_err(|rejection| Error::NotFound(rejection.body_text()))
    }
}

/// An id or a name in a path.
pub(in crate::api) trait PathId: Sized {
    const NOUN: &'static str;

    fn parse(text: &str) -> Option<Self>;
}

/// Parses an id or a name; an invalid one is reported as not found.
pub(in crate::api) fn find<T: PathId>(text: &str) -> Result<T, Error> {
    T::parse(text).ok_or_else(|| Error::not_found(T::NOUN, text))
}

/// The parsed id or name in a path.
pub(in crate::api) struct Id<T>(pub T);

impl<T: PathId> FromRequestParts<App> for Id<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Segment(text) = Segment::from_request_parts(parts, app).await?;
        find(&text).map(Self)
    }
}

macro_rules! path_ids {
    ($($id:ident = $noun:literal),* $(,)?) => {
        $(impl PathId for $id {
            const NOUN: &'static str = $noun;

            fn parse(text: &str) -> Option<Self> {
                Self::parse(text).ok()
            }
        })*
    };
}

path_ids! {
    AgentName = "Agent",
    AlertId = "Alert",
    HandoffId = "Hand-off",
    IncrementId = "Increment",
    MailId = "Mail",
    MessageId = "Queued message",
    RequestId = "Request",
    SessionId = "Session",
    TaskId = "Task",
    ToolName = "Tool",
}

/// The id of a task that the caller may change.
pub(in crate::api) struct ChangedTask(pub TaskId);

impl FromRequestParts<App> for ChangedTask {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Id(id) = Id::from_request_parts(parts, app).await?;
        app.engine.check_may_change(caller::of(parts), &id).await?;
        Ok(Self(id))
    }
}

/// The id of a task that the caller may plan.
pub(in crate::api) struct PlannedTask(pub TaskId);

impl FromRequestParts<App> for PlannedTask {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Id(id) = Id::from_request_parts(parts, app).await?;
        app.engine.check_may_plan(caller::of(parts), &id).await?;
        Ok(Self(id))
    }
}

/// A task id and a name in a path: the name of a file or of a tool.
pub(in crate::api) struct TaskItem {
    pub task_id: TaskId,
    pub name: String,
}

impl FromRequestParts<App> for TaskItem {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Path((id, name)) = Path::<(String, String)>::from_request_parts(parts, app)
            .await
            .map_err(|rejection| Error::NotFound(rejection.body_text()))?;
        let task_id = find(&id)?;
        Ok(Self { task_id, name })
    }
}

/// Like [`TaskItem`], of a task that the caller may change.
pub(in crate::api) struct ChangedTaskItem(pub TaskItem);

impl FromRequestParts<App> for ChangedTaskItem {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let item = TaskItem::from_request_parts(parts, app).await?;
        app.engine
            .check_may_change(caller::of(parts), &item.task_id)
            .await?;
        Ok(Self(item))
    }
}
