//! The table of routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::middleware;
use tokio::sync::Semaphore;
use utoipa::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::{
    agents, alerts, analytics, attachments, attention, board, chat, deprecation, description,
    dispatch, docs, events, guard, handoffs, health, ids, increments, intake, logs, mail, messages,
    observe, outgo, queue, requests, routing, schema_rules, sessions, setup, task_lists, tasks,
    tools, usage,
};
use crate::engine::Engine;
use crate::{Error, web};

/// Reads that scan many rows at the same time; the other readers stay free.
const SCANS: usize = 2;

/// The state that all handlers share.
#[derive(Clone)]
pub struct App {
    pub(super) engine: Engine,
    pub(super) guard: Arc<guard::Guard>,
    pub(super) openapi: Bytes,
    /// The version of the web app.
    pub(super) assets: String,
    pub(super) files: Arc<Semaphore>,
    pub(super) intake: intake::Budget,
    /// The turns of reads that scan many rows, fewer than there are readers.
    pub(super) scans: Arc<Semaphore>,
    /// The bytes of large answers that clients have not taken yet.
    pub(super) answers: Arc<Semaphore>,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Chorus",
        description = "A hand-off server for coding agents.\n\nA success is `{data, meta}`, an error is `{error: {code, message}}`. Times are milliseconds since the epoch, UTC. Optional values are `null`, not absent, unless the field says otherwise. Fields may be added.\n\nEvery answer has an `X-Request-Id` header: the id that the caller sent, or a new one. The server log shows it.",
    ),
    tags(
        (name = "tasks", description = "Units of work"),
        (name = "hand-offs", description = "The work of one agent on one task"),
        (name = "attachments", description = "Files of tasks"),
        (name = "conversations", description = "Messages of tasks, and where control moved"),
        (name = "tools", description = "Functions with which an agent transfers control to another agent"),
        (name = "sessions", description = "Conversations that move from agent to agent"),
        (name = "requests", description = "Work for later, approved by the operator"),
        (name = "dispatch", description = "The dispatcher, which starts approved requests"),
        (name = "increments", description = "Work that different agents implement, test, fix and verify"),
        (name = "agents", description = "The configured workers"),
        (name = "mail", description = "Messages between agents, the operator and the router"),
        (name = "alerts", description = "Messages that the operator must see and resolve"),
        (name = "events", description = "The stream of everything that happens"),
        (name = "service", description = "The server itself"),
    )
)]
struct Description;

/// Collects routes, each with the layer for runs that have passed control on.
struct Routes(OpenApiRouter<App>);

impl Routes {
    /// Adds routes that refuse a run that has passed control on.
    fn routes(self, routes: UtoipaMethodRouter<App>) -> Self {
        let routes = routes.layer(middleware::from_fn(guard::refuse_passed_on));
        Self(self.0.routes(routes))
    }

    /// Adds routes that pass control on, which a run may repeat with its idempotency key.
    fn repeatable(self, routes: UtoipaMethodRouter<App>) -> Self {
        let routes = routes.layer(middleware::from_fn(guard::allow_repetition));
        Self(self.0.routes(routes))
    }
}

fn routes() -> OpenApiRouter<App> {
    let legacy_ready = deprecation::deprecate(
        routes!(task_lists::list_ready_tasks),
        "/api/tasks?ready=true",
    );
    let legacy_route = deprecation::deprecate(
        deprecation::at_legacy_path(
            routes!(routing::explain_route, routing::route_task),
            "/api/route/{id}",
        ),
        "/api/tasks/{id}/route",
    );
    let routes = Routes(OpenApiRouter::with_openapi(Description::openapi()))
        .routes(routes!(task_lists::list_tasks, tasks::create_task))
        .routes(routes!(board::get_board))
        .routes(routes!(attention::list_attention))
        .routes(routes!(tasks::get_task, tasks::edit_task))
        .routes(routes!(tasks::set_task_status))
        .routes(routes!(tasks::plan_task))
        .routes(routes!(tasks::get_task_history))
        .routes(routes!(tasks::get_task_tree))
        .routes(routes!(usage::get_task_usage))
        .routes(routes!(queue::get_task_queue, queue::queue_message))
        .routes(routes!(chat::delete_queued_message))
        .routes(routes!(chat::send_chat_message))
        .routes(routes!(routing::explain_route, routing::route_task))
        .routes(routes!(routing::submit_report))
        .routes(legacy_ready)
        .routes(legacy_route)
        .routes(routes!(attachments::create_attachment))
        .routes(routes!(
            attachments::get_attachment,
            attachments::delete_attachment
        ))
        .routes(routes!(handoffs::start_handoff))
        .routes(routes!(handoffs::complete_handoff))
        .routes(routes!(handoffs::cancel_handoff))
        .routes(routes!(handoffs::list_task_handoffs))
        .routes(routes!(handoffs::get_handoff))
        .routes(routes!(handoffs::list_trace_handoffs))
        .routes(routes!(logs::get_handoff_log))
        .routes(routes!(analytics::get_handoff_analytics))
        .routes(routes!(analytics::list_days))
        .routes(routes!(tools::list_tools, tools::create_tool))
        .routes(routes!(
            tools::get_tool,
            tools::put_tool,
            tools::delete_tool
        ))
        .routes(routes!(tools::list_agent_tools))
        .repeatable(routes!(tools::call_tool))
        .routes(routes!(messages::list_messages, messages::create_message))
        .routes(routes!(messages::get_conversation))
        .routes(routes!(sessions::list_sessions))
        .routes(routes!(sessions::get_session))
        .routes(routes!(sessions::list_session_handoffs))
        .repeatable(routes!(sessions::start_session_handoff))
        .routes(routes!(sessions::get_last_session_handoff))
        .routes(routes!(sessions::count_session_handoffs))
        .routes(routes!(requests::list_requests, requests::create_request))
        .routes(routes!(requests::approve_requests))
        .routes(routes!(requests::get_request))
        .routes(routes!(requests::get_request_response))
        .routes(routes!(requests::approve_request))
        .routes(routes!(requests::mark_request_next))
        .routes(routes!(requests::withdraw_request))
        .routes(routes!(requests::claim_request))
        .routes(routes!(requests::renew_request_lease))
        .routes(routes!(requests::finish_request))
        .routes(routes!(requests::requeue_request))
        .routes(routes!(dispatch::get_dispatch))
        .routes(routes!(
            dispatch::list_dispatch_routes,
            dispatch::put_dispatch_routes
        ))
        .routes(routes!(
            increments::list_increments,
            increments::create_increment
        ))
        .routes(routes!(increments::get_increment))
        .routes(routes!(increments::retry_increment))
        .routes(routes!(agents::list_agents))
        .routes(routes!(
            agents::get_agent,
            agents::put_agent,
            agents::edit_agent,
            agents::delete_agent
        ))
        .routes(routes!(agents::announce_capabilities))
        .routes(routes!(usage::get_agent_usage))
        .routes(routes!(setup::list_agent_setups))
        .routes(routes!(setup::get_agent_setup))
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
        .routes(routes!(health::check_readiness))
        .routes(routes!(health::get_metrics))
        .routes(routes!(docs::get_openapi))
        .routes(routes!(docs::get_docs));
    routes.0
}

/// Returns the OpenAPI document as indented JSON.
pub fn openapi() -> String {
    let mut document = routes().into_openapi();
    description::complete(&mut document);
    let document = schema_rules::with_rules(&document);
    serde_json::to_string_pretty(&document).expect("an OpenAPI document is JSON")
}

/// Builds the router of the API and of the page, which share one guard.
pub fn router(engine: Engine, guard: guard::Guard, assets: &web::Assets) -> Router {
    let (routes, mut document) = routes().split_for_parts();
    description::complete(&mut document);
    let openapi = Bytes::from(schema_rules::with_rules(&document).to_string());
    let intake = intake::Budget::new(engine.limits().bodies);
    let answers = Arc::new(Semaphore::new(engine.limits().answers));
    let files = Arc::new(Semaphore::new(engine.limits().files));
    let app = App {
        engine,
        files,
        intake,
        scans: Arc::new(Semaphore::new(SCANS)),
        answers,
        guard: Arc::new(guard),
        openapi,
        assets: assets.version().to_owned(),
    };
    let page = web::routes(assets)
        .fallback(no_such_path)
        .layer(middleware::from_fn(guard::refuse_passed_on));
    routes
        .merge(page)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(middleware::from_fn_with_state(app.clone(), outgo::share))
        .layer(middleware::from_fn(intake::take_in))
        .layer(middleware::from_fn(observe::observe))
        .with_state(app)
}

async fn no_such_path(request: Request) -> Error {
    Error::NotFound(format!(
        "No such path: {}; see /api/docs for all paths",
        request.uri().path()
    ))
}

async fn no_such_method(request: Request) -> Error {
    Error::MethodNotAllowed(format!(
        "{} is not allowed at {}; see /api/docs for the methods of each path",
        request.method(),
        request.uri().path()
    ))
}
