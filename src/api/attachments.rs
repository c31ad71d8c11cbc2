//! `/api/tasks/{id}/attachments`

use axum::body::Body as ResponseBody;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio_util::io::ReaderStream;
use utoipa::{IntoParams, ToSchema};

use super::extract::{ChangedTask, ChangedTaskItem, Once, Query, RawBody, TaskItem};
use super::places::keeping;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{Filename, TaskWire, Text};
use crate::engine::Upload;

const ANY_BYTES: &str = "application/octet-stream";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AttachParameters {
    /// The name of the file, without folders; at most 255 bytes.
    #[param(value_type = String, min_length = 1, max_length = 255, pattern = "^[^/\\\\\\x00-\\x1f\\x7f-\\x9f]+$", example = "notes.txt")]
    filename: Filename,
}

/// The content of a file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(
    dead_code,
    reason = "describes for OpenAPI that the body can be any bytes"
)]
struct FileBytes(Vec<u8>);

/// Attach a file to a task
///
/// The body is the content of the file. Its `Content-Type` is stored with it.
#[utoipa::path(
    post, path = "/api/tasks/{id}/attachments", operation_id = "create_attachment", tag = "attachments",
    params(("id" = String, Path, description = "The task"), AttachParameters),
    request_body(content = inline(FileBytes), content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 400, description = "The filename is not valid", body = ErrorAnswer),
        (status = 404, description = "Task not found", body = ErrorAnswer),
        (status = 409, description = "The task already has a file with this name", body = ErrorAnswer),
        (status = 413, description = "The file is larger than 10 MB", body = ErrorAnswer),
    )
)]
pub(super) async fn create_attachment(
    State(app): State<App>,
    ChangedTask(id): ChangedTask,
    Query(parameters): Query<AttachParameters>,
    request: Request,
) -> Result<Response, Error> {
    let RawBody {
        bytes,
        headers,
        once,
    } = RawBody::read(&app, request, "attachment", app.engine.limits().attachment).await?;
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or(ANY_BYTES);
    let content_type: Text = content_type
        .parse()
        .map_err(|error| Error::InvalidQuery(format!("Content-Type: {error}")))?;
    let _place = app.take_file()?;
    let upload = Upload {
        filename: parameters.filename,
        content_type,
        bytes,
    };
    Ok(app.ok(app.engine.attach(id, upload, once).await?))
}

/// Get a file of a task
#[utoipa::path(
    get, path = "/api/tasks/{id}/attachments/{filename}", operation_id = "get_attachment", tag = "attachments",
    params(("id" = String, Path, description = "The task"), ("filename" = String, Path, description = "The name of the file")),
    responses(
        (status = 200, description = "The content of the file", content_type = "application/octet-stream", body = inline(FileBytes)),
        (status = 404, description = "Task or file not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_attachment(
    State(app): State<App>,
    path: TaskItem,
) -> Result<Response, Error> {
    let place = app.take_file()?;
    let (attachment, file) = app.engine.attachment(&path.task_id, &path.name).await?;
    let file = tokio::fs::File::open(file).await.map_err(Error::io)?;
    let size = file.metadata().await.map_err(Error::io)?.len();
    let content_type = HeaderValue::from_str(attachment.content_type.as_str())
        .unwrap_or_else(|_| HeaderValue::from_static(ANY_BYTES));
    let filename = utf8_percent_encode(attachment.filename.as_str(), NON_ALPHANUMERIC);
    // An uploaded file must not run as a page of this server.
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{filename}"))
                .map_err(Error::internal)?,
        ),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'"),
        ),
    ];
    let file = keeping(place, ReaderStream::new(file));
    Ok((headers, ResponseBody::from_stream(file)).into_response())
}

/// Delete a file of a task
#[utoipa::path(
    delete, path = "/api/tasks/{id}/attachments/{filename}", operation_id = "delete_attachment", tag = "attachments",
    params(("id" = String, Path, description = "The task"), ("filename" = String, Path, description = "The name of the file")),
    responses(
        (status = 200, description = "The task", body = Answer<TaskWire>),
        (status = 404, description = "Task or file not found", body = ErrorAnswer),
    )
)]
pub(super) async fn delete_attachment(
    State(app): State<App>,
    ChangedTaskItem(file): ChangedTaskItem,
    Once(once): Once,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.detach(file.task_id, file.name, once).await?))
}
