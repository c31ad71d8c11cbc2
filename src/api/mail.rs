//! `/api/mail`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Id, OptionalBody, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    Caller, Correspondent, Mail, MailId, MailQuery, SearchWords, TaskId, Text, ThreadId,
};
use crate::engine::{MailInput, MarkInput};
use crate::ledger::mail::{self, MailMark, MarkMail};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent filter"
)]
pub(super) struct MailParameters {
    /// Only mail to this recipient: an agent, or `operator`.
    to: Option<Correspondent>,
    /// Only mail from this sender.
    from: Option<Correspondent>,
    /// Only mail that the recipient in `to` (or any recipient) has not read.
    #[serde(default)]
    unread: bool,
    /// Only mail that the recipient in `to` (or any recipient) has not read, or must still acknowledge.
    #[serde(default)]
    pending: bool,
    /// Only mail whose acknowledgement by the recipient in `to` (or any recipient) is overdue.
    #[serde(default)]
    overdue: bool,
    /// Only mail of this thread.
    thread: Option<ThreadId>,
    /// Only mail about this task.
    task: Option<TaskId>,
    /// Only mail that contains all these words in its subject, body or context.
    #[param(value_type = Option<String>, min_length = 1)]
    q: Option<Text>,
    /// Newest first.
    #[serde(default)]
    newest: bool,
    /// Maximum number of mails in the page. Large mails make it shorter.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Cursor: `meta.next` of the previous page.
    after: Option<MailId>,
}

/// List mail, oldest first unless `newest` is true
///
/// Listing does not mark mail as read.
#[utoipa::path(
    get, path = "/api/mail", operation_id = "list_mail", tag = "mail", params(MailParameters),
    responses(
        (status = 200, description = "The mail; `meta.next` is present if there are more", body = Answer<Vec<Mail>>),
        (status = 404, description = "The mail in `after` was not found", body = ErrorAnswer),
    )
)]
pub(super) async fn list_mail(
    State(app): State<App>,
    Query(asked): Query<MailParameters>,
) -> Result<Response, Error> {
    let words = asked.q.map(|text| words(&text)).transpose()?;
    let query = MailQuery {
        to: asked.to,
        from: asked.from,
        unread: asked.unread,
        pending: asked.pending,
        overdue_at: asked.overdue.then(|| app.engine.clock().now()),
        thread: asked.thread,
        task: asked.task,
        words,
        newest: asked.newest,
        after: asked.after,
        limit: app.page_size(asked.limit)?,
    };
    app.read_page(move |view| mail::list(view, &query)).await
}

fn words(text: &Text) -> Result<SearchWords, Error> {
    SearchWords::parse(text.as_str()).ok_or_else(|| {
        let most = SearchWords::MOST;
        Error::InvalidQuery(format!(
            "query: q: must be 1 to {most} words with letters or digits"
        ))
    })
}

/// Send a mail to agents or to the operator
///
/// The mail waits until it is read, however long the agent is away. A run sends in the name of its agent.
#[utoipa::path(
    post, path = "/api/mail", operation_id = "send_mail", tag = "mail", request_body = MailInput,
    responses(
        (status = 201, description = "The new mail", body = Answer<Mail>),
        (status = 400, description = "A field is not valid, or an agent is unknown (`UNKNOWN_AGENT`)", body = ErrorAnswer),
        (status = 401, description = "The operator's token is required to send as the operator", body = ErrorAnswer),
        (status = 403, description = "The task is neither the run's own task nor below it, or `from` is the router", body = ErrorAnswer),
        (status = 404, description = "The task, or the mail to answer, was not found", body = ErrorAnswer),
        (status = 413, description = "The subject is larger than 1000 bytes, or the body or the context is larger than 64 KiB", body = ErrorAnswer),
    )
)]
pub(super) async fn send_mail(
    State(app): State<App>,
    caller: Caller,
    body: Body<MailInput>,
) -> Result<Response, Error> {
    Ok(app.created(app.engine.send_mail(body.value, &caller, body.once).await?))
}

/// Get a mail without marking it as read
#[utoipa::path(
    get, path = "/api/mail/{id}", operation_id = "get_mail", tag = "mail",
    params(("id" = String, Path, description = "The mail")),
    responses(
        (status = 200, description = "The mail", body = Answer<Mail>),
        (status = 404, description = "Mail not found", body = ErrorAnswer),
    )
)]
pub(super) async fn get_mail(
    State(app): State<App>,
    Id(id): Id<MailId>,
) -> Result<Response, Error> {
    app.read(move |view| mail::get(view, &id)).await
}

/// Acknowledge a mail
///
/// Also marks the mail as read. Acknowledging it again changes nothing.
#[utoipa::path(
    post, path = "/api/mail/{id}/ack", operation_id = "acknowledge_mail", tag = "mail",
    request_body = Option<MarkInput>,
    params(("id" = String, Path, description = "The mail")),
    responses(
        (status = 200, description = "The mail", body = Answer<Mail>),
        (status = 400, description = "The named recipient does not get this mail, or the mail has several recipients and none is named", body = ErrorAnswer),
        (status = 401, description = "The mail is for the operator: the operator's token is required", body = ErrorAnswer),
        (status = 403, description = "The mail is not for the agent of this run", body = ErrorAnswer),
        (status = 404, description = "Mail not found", body = ErrorAnswer),
    )
)]
pub(super) async fn acknowledge_mail(
    State(app): State<App>,
    Id(id): Id<MailId>,
    caller: Caller,
    body: OptionalBody<MarkInput>,
) -> Result<Response, Error> {
    mark_mail(&app, id, MailMark::Acknowledged, caller, body).await
}

/// Mark a mail as read
///
/// Marking it again changes nothing.
#[utoipa::path(
    post, path = "/api/mail/{id}/read", operation_id = "mark_mail_read", tag = "mail",
    request_body = Option<MarkInput>,
    params(("id" = String, Path, description = "The mail")),
    responses(
        (status = 200, description = "The mail", body = Answer<Mail>),
        (status = 400, description = "The named recipient does not get this mail, or the mail has several recipients and none is named", body = ErrorAnswer),
        (status = 401, description = "The mail is for the operator: the operator's token is required", body = ErrorAnswer),
        (status = 403, description = "The mail is not for the agent of this run", body = ErrorAnswer),
        (status = 404, description = "Mail not found", body = ErrorAnswer),
    )
)]
pub(super) async fn mark_mail_read(
    State(app): State<App>,
    Id(id): Id<MailId>,
    caller: Caller,
    body: OptionalBody<MarkInput>,
) -> Result<Response, Error> {
    mark_mail(&app, id, MailMark::Read, caller, body).await
}

async fn mark_mail(
    app: &App,
    id: MailId,
    mark: MailMark,
    caller: Caller,
    body: OptionalBody<MarkInput>,
) -> Result<Response, Error> {
    let mark = MarkMail {
        id,
        mark,
        recipient: body.value.recipient,
        caller,
    };
    let marked = app.engine.write(body.once, move |tx| mail::mark(tx, &mark));
    Ok(app.ok(marked.await?))
}
