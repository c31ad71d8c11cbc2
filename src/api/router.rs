//! Which path leads where.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::middleware;
use utoipa::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::{
    agents, alerts, analytics, attachments, description, dispatch, docs, events, guard, handoffs,
    health, ids, increments, logs, mail, messages, observe, queue, requests, routing, sessions,
    tasks, tools, usage,
};
use crate::engine::Engine;
use crate::{Error, web};

/// What every handler has.
#[derive(Clone)]
pub struct App {
    pub(super) engine: Engine,
    pub(super) guard: Arc<guard::Guard>,
    pub(super) openapi: Bytes,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Chorus",
        description = "A hand-off server for coding agents.\n\nSuccess is `{data, meta}`, failure is `{error: {code, message}}`. Times are milliseconds since the epoch, UTC. Optional values are `null`, not absent, where nothing else is said. Fields may be added.\n\nEvery answer has an `X-Request-Id`: the one that was sent, or a new one; the log names it.",
    ),
    tags(
        (name = "tasks", description = "Units of work"),
        (name = "hand-offs", description = "Who works on a task"),
        (name = "tools", description = "How an agent passes control to another one"),
        (name = "conversations", description = "What was said, and where control moved"),
        (name = "sessions", description = "Conversations that move from agent to agent"),
        (name = "requests", description = "Work that is left behind, approved by a person, and dispatched"),
        (name = "routing", description = "What tasks need, what is ready, and who gets it"),
        (name = "increments", description = "Work that is implemented, tested, fixed and verified by different agents"),
        (name = "attachments", description = "Files of tasks"),
        (name = "agents", description = "The configured workers"),
        (name = "alerts", description = "What a person must see until it is resolved"),
        (name = "mail", description = "What agents, people and the router write to each other"),
        (name = "events", description = "What happens"),
        (name = "service", description = "The server itself"),
    )
)]
struct Description;

/// The routes that are declared so far.
struct Routes(OpenApiRouter<App>);

impl Routes {
    /// Adds routes that are closed to a run that has passed control on.
    fn routes(self, routes: UtoipaMethodRouter<App>) -> Self {
        let routes = routes.layer(middleware::from_fn(guard::refuse_passed_on));
        Self(self.0.routes(routes))
    }

    /// Adds routes that pass control on: a run may repeat such a call afterwards.
    fn repeatable(self, routes: UtoipaMethodRouter<App>) -> Self {
        let routes = routes.layer(middleware::from_fn(guard::allow_repetition));
        Self(self.0.routes(routes))
    }
}

fn routes() -> OpenApiRouter<App> {
    let routes = Routes(OpenApiRouter::with_openapi(Description::openapi()))
        .routes(routes!(tasks::list_tasks, tasks::create_task))
        .routes(routes!(tasks::get_task, routing::change_task))
        .routes(routes!(routing::give_report))
        .routes(routes!(routing::list_ready_tasks))
        .routes(routes!(routing::explain_route, routing::route_task))
        .routes(routes!(
            increments::list_increments,
            increments::create_increment
        ))
        .routes(routes!(increments::get_increment))
        .routes(routes!(increments::retry_increment))
        .routes(routes!(tasks::set_status))
        .routes(routes!(tasks::plan_task))
        .routes(routes!(tasks::get_history))
        .routes(routes!(queue::get_queue, queue::queue_message))
        .routes(routes!(attachments::attach))
        .routes(routes!(attachments::get_attachment, attachments::detach))
        .routes(routes!(handoffs::start_handoff))
        .routes(routes!(handoffs::complete_handoff))
        .routes(routes!(handoffs::cancel_handoff))
        .routes(routes!(handoffs::list_handoffs))
        .routes(routes!(handoffs::get_handoff))
        .routes(routes!(analytics::list_trace_handoffs))
        .routes(routes!(logs::get_log))
        .routes(routes!(analytics::get_handoff_analytics))
        .routes(routes!(tools::list_tools, tools::create_tool))
        .routes(routes!(
            tools::get_tool,
            tools::change_tool,
            tools::delete_tool
        ))
        .routes(routes!(tools::list_agent_tools))
        .repeatable(routes!(tools::call_tool))
        .routes(routes!(messages::list_messages, messages::add_message))
        .routes(routes!(messages::get_conversation))
        .routes(routes!(messages::get_task_tree))
        .routes(routes!(sessions::list_sessions))
        .routes(routes!(sessions::get_session))
        .routes(routes!(sessions::list_session_handoffs))
        .repeatable(routes!(sessions::move_session))
        .routes(routes!(sessions::get_last_session_handoff))
        .routes(routes!(sessions::count_session_handoffs))
        .routes(routes!(requests::list_requests, requests::create_request))
        .routes(routes!(requests::approve_requests))
        .routes(routes!(requests::get_request))
        .routes(routes!(requests::get_response))
        .routes(routes!(requests::approve_request))
        .routes(routes!(requests::leave_to_next))
        .routes(routes!(requests::claim_request))
        .routes(routes!(requests::heartbeat))
        .routes(routes!(requests::finish_request))
        .routes(routes!(requests::requeue_request))
        .routes(routes!(dispatch::get_dispatch))
        .routes(routes!(dispatch::list_routes, dispatch::set_routes))
        .routes(routes!(agents::list_agents))
        .routes(routes!(
            agents::get_agent,
            agents::put_agent,
            agents::change_agent,
            agents::delete_agent
        ))
        .routes(routes!(agents::announce_capabilities))
        .routes(routes!(usage::get_task_usage))
        .routes(routes!(usage::get_agent_usage))
        .routes(routes!(alerts::list_alerts, alerts::raise_alert))
        .routes(routes!(alerts::get_alert))
        .routes(routes!(alerts::resolve_alert))
        .routes(routes!(mail::list_mail, mail::send_mail))
        .routes(routes!(mail::get_mail))
        .routes(routes!(mail::acknowledge_mail))
        .routes(routes!(mail::mark_mail_read))
        .routes(routes!(ids::list_ids))
        .routes(routes!(events::stream_events))
        .routes(routes!(health::check_health))
        .routes(routes!(health::check_ready))
        .routes(routes!(health::get_metrics))
        .routes(routes!(docs::get_openapi))
        .routes(routes!(docs::get_docs));
    routes.0
}

/// Returns the OpenAPI document, indented.
pub fn openapi() -> String {
    let mut document = routes().into_openapi();
    description::complete(&mut document);
    serde_json::to_string_pretty(&document).expect("an OpenAPI document is JSON")
}

/// Puts the API on an engine, and the page beside it: the same names and pages may ask for both.
pub fn router(engine: Engine, guard: guard::Guard) -> Router {
    let (routes, mut document) = routes().split_for_parts();
    description::complete(&mut document);
    let openapi =
        Bytes::from(serde_json::to_string(&document).expect("an OpenAPI document is JSON"));
    let app = App {
        engine,
        guard: Arc::new(guard),
        openapi,
    };
    let page = web::routes()
        .fallback(no_such_path)
        .layer(middleware::from_fn(guard::refuse_passed_on));
    routes
        .merge(page)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(middleware::from_fn(observe::observe))
        .with_state(app)
}

async fn no_such_path(request: Request) -> Error {
    Error::NotFound(format!(
        "There is nothing at {}; /api/docs lists what there is",
        request.uri().path()
    ))
}

async fn no_such_method(request: Request) -> Error {
    Error::MethodNotAllowed(format!(
        "{} is not possible at {}",
        request.method(),
        request.uri().path()
    ))
}
