//! `/api/mail`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{Body, Id, OptionalBody, Query};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{
    Caller, Correspondent, Mail, MailId, MailQuery, Page, SearchWords, TaskId, Text, ThreadId,
};
use crate::engine::{MailInput, MarkInput};
use crate::ledger::mail::{self, MailMark, MarkMail};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MailParameters {
    /// Only mail that this one gets: an agent, or `operator`.
    to: Option<Correspondent>,
    /// Only mail that this one sent.
    from: Option<Correspondent>,
    /// Only mail that has not been read, by the one in `to` or by anybody.
    #[serde(default)]
    unread: bool,
    /// Only mail that has not been read, or is to be acknowledged, by the one in `to` or by anybody.
    #[serde(default)]
    pending: bool,
    /// Only mail that should have been acknowledged by now, by the one in `to` or by anybody.
    #[serde(default)]
    overdue: bool,
    /// Only mail of this thread.
    thread: Option<ThreadId>,
    /// Only mail about this task.
    task: Option<TaskId>,
    /// Only mail that has all these words in its subject, body or context.
    #[param(value_type = Option<String>)]
    q: Option<Text>,
    /// At most so many; fewer come if they are large.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Only mail sent after this one: `meta.next` of the answer before.
    after: Option<MailId>,
}

/// Lists mail, oldest first. Reading changes nothing: what is unread stays so.
#[utoipa::path(
    get, path = "/api/mail", operation_id = "list_mail", tag = "mail", params(MailParameters),
    responses(
        (status = 200, description = "The mail; `meta.next` is there when there is more", body = Answer<Vec<Mail>>),
        (status = 404, description = "The mail in `after` is not there", body = ErrorAnswer),
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
        after: asked.after,
        limit: app.page_size(asked.limit)?,
    };
    let page = app.engine.read(move |view| mail::list(view, &query));
    let Page { items, next } = page.await?;
    Ok(app.page(items, next))
}

fn words(text: &Text) -> Result<SearchWords, Error> {
    SearchWords::parse(text.as_str()).ok_or_else(|| {
        let most = SearchWords::MOST;
        Error::InvalidQuery(format!(
            "query: q: must be 1 to {most} words with letters or digits"
        ))
    })
}

/// Sends a mail. It waits until it is read, however long an agent is away. A run sends as its agent.
#[utoipa::path(
    post, path = "/api/mail", operation_id = "send_mail", tag = "mail", request_body = MailInput,
    responses(
        (status = 201, description = "The mail", body = Answer<Mail>),
        (status = 400, description = "A field is wrong, or nobody is called so (`UNKNOWN_AGENT`)", body = ErrorAnswer),
        (status = 401, description = "Who sends as the operator needs the operator's token", body = ErrorAnswer),
        (status = 403, description = "The task is neither the run's own nor below it, or `from` is the router", body = ErrorAnswer),
        (status = 404, description = "There is no such task, or no such mail to answer", body = ErrorAnswer),
        (status = 413, description = "The subject has more than 1000 bytes, or the body or the context more than 64 KiB", body = ErrorAnswer),
    )
)]
pub(super) async fn send_mail(
    State(app): State<App>,
    caller: Caller,
    body: Body<MailInput>,
) -> Result<Response, Error> {
    Ok(app.created(app.engine.send_mail(body.value, &caller, body.once).await?))
}

/// Shows a mail. It stays as unread as it was.
#[utoipa::path(
    get, path = "/api/mail/{id}", operation_id = "get_mail", tag = "mail",
    params(("id" = String, Path, description = "The mail")),
    responses(
        (status = 200, description = "The mail", body = Answer<Mail>),
        (status = 404, description = "There is no such mail", body = ErrorAnswer),
    )
)]
pub(super) async fn get_mail(
    State(app): State<App>,
    Id(id): Id<MailId>,
) -> Result<Response, Error> {
    let mail = app.engine.read(move |view| mail::get(view, &id));
    Ok(app.ok(mail.await?))
}

/// Acknowledges a mail, which is then read too. A second time changes nothing.
#[utoipa::path(
    post, path = "/api/mail/{id}/ack", operation_id = "acknowledge_mail", tag = "mail",
    request_body = Option<MarkInput>,
    params(("id" = String, Path, description = "The mail")),
    responses(
        (status = 200, description = "The mail", body = Answer<Mail>),
        (status = 400, description = "Who is named does not get it, or several do and nobody is named", body = ErrorAnswer),
        (status = 401, description = "It is for the operator, whose token is needed", body = ErrorAnswer),
        (status = 403, description = "It is not for the agent of this run", body = ErrorAnswer),
        (status = 404, description = "There is no such mail", body = ErrorAnswer),
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

/// Marks a mail as read. A second time changes nothing.
#[utoipa::path(
    post, path = "/api/mail/{id}/read", operation_id = "mark_mail_read", tag = "mail",
    request_body = Option<MarkInput>,
    params(("id" = String, Path, description = "The mail")),
    responses(
        (status = 200, description = "The mail", body = Answer<Mail>),
        (status = 400, description = "Who is named does not get it, or several do and nobody is named", body = ErrorAnswer),
        (status = 401, description = "It is for the operator, whose token is needed", body = ErrorAnswer),
        (status = 403, description = "It is not for the agent of this run", body = ErrorAnswer),
        (status = 404, description = "There is no such mail", body = ErrorAnswer),
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
