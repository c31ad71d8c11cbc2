//! `/api/handoffs/{id}/log`

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;
use utoipa::IntoParams;

use super::extract::{Id, Query};
use super::places::keeping;
use super::{App, ErrorAnswer};
use crate::Error;
use crate::domain::HandoffId;
use crate::runner::{LogStream, open_log};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogParameters {
    /// The output stream.
    #[serde(default)]
    #[param(inline)]
    stream: LogStream,
    /// Wait until the run starts, and stream new output until it ends.
    #[serde(default)]
    follow: bool,
}

/// Get the raw output of a hand-off's last run
///
/// Supports `Range`.
#[utoipa::path(
    get, path = "/api/handoffs/{id}/log", operation_id = "get_handoff_log", tag = "hand-offs",
    params(
        ("id" = String, Path, description = "The hand-off"),
        LogParameters,
        ("Range" = Option<String>, Header, description = "One range of bytes, for example `bytes=1000-`"),
    ),
    responses(
        (status = 200, description = "The whole log", content_type = "text/plain", body = String),
        (status = 206, description = "The requested range", content_type = "text/plain", body = String),
        (status = 404, description = "Hand-off not found, or it has not run yet", body = ErrorAnswer),
        (status = 416, description = "The range starts after the end of the log", body = ErrorAnswer),
    )
)]
pub(super) async fn get_handoff_log(
    State(app): State<App>,
    Id(id): Id<HandoffId>,
    Query(parameters): Query<LogParameters>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    if parameters.follow {
        app.engine.wait_for_log(&id, parameters.stream).await?;
    }
    let place = app.take_file()?;
    let (run_id, files) = app.engine.run_files(&id).await?;
    let path = parameters.stream.file(&files);
    let mut file = match open_log(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NotFound(format!(
                "Hand-off {id} has no log here: it has not run yet, no agent ran it, or it was imported"
            )));
        }
        Err(error) => return Err(Error::io(error)),
    };
    let length = file.metadata().await.map_err(Error::io)?.len();
    let range = headers
        .get(header::RANGE)
        .and_then(|range| range.to_str().ok())
        .map(|range| parse(range, length));
    let plain = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        ),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
    ];
    if parameters.follow {
        let from = match range {
            Some(Range::Bytes { from, .. }) => from,
            _ => 0,
        };
        if let Some(stream) = app
            .engine
            .follow_log(&run_id, parameters.stream, from)
            .await?
        {
            return Ok((plain, Body::from_stream(keeping(place, stream))).into_response());
        }
    }
    match range {
        Some(Range::Outside) => {
            let unit = if length == 1 { "byte" } else { "bytes" };
            let message = format!("Range: must start within the log, which has {length} {unit}");
            let mut response = Error::InvalidQuery(message).into_response();
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            let total =
                HeaderValue::from_str(&format!("bytes */{length}")).map_err(Error::internal)?;
            response.headers_mut().insert(header::CONTENT_RANGE, total);
            Ok(response)
        }
        Some(Range::Bytes { from, to }) => {
            file.seek(std::io::SeekFrom::Start(from))
                .await
                .map_err(Error::internal)?;
            let part = format!("bytes {from}-{to}/{length}");
            let headers = [
                (
                    header::CONTENT_RANGE,
                    HeaderValue::from_str(&part).map_err(Error::internal)?,
                ),
                (header::CONTENT_LENGTH, HeaderValue::from(to - from + 1)),
            ];
            let part = ReaderStream::new(file.take(to - from + 1));
            let body = Body::from_stream(keeping(place, part));
            Ok((StatusCode::PARTIAL_CONTENT, plain, headers, body).into_response())
        }
        None | Some(Range::Ignored) => {
            // The agent may still be printing: send exactly the announced length.
            let size = [(header::CONTENT_LENGTH, HeaderValue::from(length))];
            let whole = ReaderStream::new(file.take(length));
            Ok((plain, size, Body::from_stream(keeping(place, whole))).into_response())
        }
    }
}

/// A parsed `Range` header.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    /// First and last byte, both inclusive.
    Bytes { from: u64, to: u64 },
    /// The range starts after the end.
    Outside,
    /// Several ranges, or another unit: HTTP allows to send the whole.
    Ignored,
}

fn parse(range: &str, length: u64) -> Range {
    let Some((from, to)) = range
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
    else {
        return Range::Ignored;
    };
    let last = length.checked_sub(1);
    match (from.trim().parse::<u64>(), to.trim().parse::<u64>(), last) {
        (_, _, None) => Range::Outside,
        (Ok(from), _, Some(last)) if from > last => Range::Outside,
        (Ok(from), Ok(to), Some(last)) if to >= from => Range::Bytes {
            from,
            to: to.min(last),
        },
        (Ok(from), Err(_), Some(last)) if to.trim().is_empty() => Range::Bytes { from, to: last },
        (Err(_), Ok(suffix), Some(last)) if from.trim().is_empty() && suffix > 0 => Range::Bytes {
            from: length.saturating_sub(suffix),
            to: last,
        },
        _ => Range::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_served_and_any_other_header_is_ignored() {
        for (range, expected) in [
            ("bytes=0-", Range::Bytes { from: 0, to: 9 }),
            ("bytes=3-5", Range::Bytes { from: 3, to: 5 }),
            ("bytes=3-500", Range::Bytes { from: 3, to: 9 }),
            ("bytes=-4", Range::Bytes { from: 6, to: 9 }),
            ("bytes=-40", Range::Bytes { from: 0, to: 9 }),
            ("bytes=10-", Range::Outside),
            ("bytes=5-3", Range::Ignored),
            ("bytes=0-1,3-4", Range::Ignored),
            ("lines=1-2", Range::Ignored),
            ("bytes=-", Range::Ignored),
        ] {
            assert_eq!(parse(range, 10), expected, "{range}");
        }
        assert_eq!(parse("bytes=0-", 0), Range::Outside);
    }
}
