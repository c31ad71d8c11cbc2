//! `chorus request`

mod show;
mod top;
mod waiting;

use reqwest::Method;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::alert;
use super::arguments::{CreateRequestArguments, RequestCommand, ServerArguments};
use super::input::{absolute, user};
use super::server::{json_file, segment, text_or_stdin};
use super::ui::{Failure, Table, Ui};
use crate::api::Answer;
use crate::client::{Client, Reply};
use crate::domain::{Kind, KindRule, Request, RequestState};
pub(super) use waiting::wait;

pub(super) async fn run(ui: Ui, command: RequestCommand) -> Result<(), Failure> {
    match command {
        RequestCommand::Create(arguments) => create(ui, arguments).await,
        RequestCommand::List {
            kind,
            state,
            priority,
            withdrawn,
            limit,
            after,
            server,
        } => {
            let mut query = Vec::new();
            query.extend(kind.map(|kind| ("kind", kind.to_string())));
            query.extend(state.map(|state| {
                let state = RequestState::from(state).as_str();
                ("state", state.to_owned())
            }));
            query.extend(priority.map(|priority| ("priority", priority.as_str().to_owned())));
            query.extend(withdrawn.then(|| ("withdrawn", "true".to_owned())));
            query.extend(limit.map(|limit| ("limit", limit.to_string())));
            query.extend(after.map(|after| ("after", after)));
            let client = server.client()?;
            let reply = client.get("/api/requests", &query).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            show::list(ui, &reply)?;
            alert::notice_active(ui, &client).await;
            Ok(())
        }
        RequestCommand::Show { request, server } => {
            let reply = server.client()?.get(&path(&request, ""), &[]).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            show::one(ui, &reply.data()?)
        }
        RequestCommand::Approve {
            requests,
            all,
            kind,
            server,
        } => {
            let requests = if all {
                undecided(&server, kind).await?
            } else {
                requests
            };
            approve(ui, requests, &server).await
        }
        RequestCommand::Next { requests, server } => {
            for request in requests {
                let reply = post(&server, &request, "/next", &json!({})).await?;
                moved(ui, &server, &reply)?;
            }
            Ok(())
        }
        RequestCommand::Claim {
            request,
            agent,
            lease,
            server,
        } => {
            let agent = agent.or_else(|| std::env::var("USER").ok());
            let agent = agent.ok_or_else(|| Failure::new("say who works on it with --as"))?;
            let mut body = json!({ "agent": agent });
            if let Some(lease) = lease {
                body["leaseSeconds"] = lease.into();
            }
            let reply = post(&server, &request, "/claim", &body).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            let claimed: Request = reply.data()?;
            ui.line(claimed.attempts)
        }
        RequestCommand::Heartbeat {
            request,
            fencing,
            lease,
            server,
        } => {
            let mut body = Map::new();
            body.extend(fencing.map(|number| ("fencing".to_owned(), number.into())));
            body.extend(lease.map(|seconds| ("leaseSeconds".to_owned(), seconds.into())));
            let reply = post(&server, &request, "/heartbeat", &body).await?;
            moved(ui, &server, &reply)
        }
        RequestCommand::Done {
            request,
            response,
            fencing,
            server,
        } => {
            let body = ended("response", text_or_stdin(response)?, fencing);
            let reply = post(&server, &request, "/done", &body).await?;
            moved(ui, &server, &reply)
        }
        RequestCommand::Requeue {
            request,
            reason,
            fencing,
            server,
        } => {
            let body = ended("reason", text_or_stdin(reason)?, fencing);
            let reply = post(&server, &request, "/requeue", &body).await?;
            moved(ui, &server, &reply)
        }
        RequestCommand::Wait(arguments) => wait(ui, arguments).await,
        RequestCommand::Top { server } => top::run(ui, &server).await,
        RequestCommand::Routes { set, server } => {
            let client = server.client()?;
            let reply = match set {
                None => client.get("/api/dispatch/routes", &[]).await?,
                Some(file) => {
                    let routes: Value = serde_json::from_str(json_file(&file)?.get())
                        .map_err(|error| Failure::caused(&error))?;
                    // What --json prints can be edited and put back.
                    let routes = routes.get("data").unwrap_or(&routes);
                    client
                        .send_json(Method::PUT, "/api/dispatch/routes", routes)
                        .await?
                }
            };
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            routes(ui, &reply)
        }
        RequestCommand::Template {
            kind,
            response,
            data,
        } => super::template::run(ui, &data.data_dir, &kind, response),
    }
}

fn path(request: &str, action: &str) -> String {
    format!("/api/requests/{}{action}", segment(request))
}

async fn post(
    server: &ServerArguments,
    request: &str,
    action: &str,
    body: &impl Serialize,
) -> Result<Reply, Failure> {
    let client = server.client()?;
    Ok(client
        .send_json(Method::POST, &path(request, action), body)
        .await?)
}

fn ended(key: &str, text: String, fencing: Option<u32>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert(key.to_owned(), text.into());
    body.extend(fencing.map(|number| ("fencing".to_owned(), number.into())));
    body
}

async fn create(ui: Ui, arguments: CreateRequestArguments) -> Result<(), Failure> {
    let CreateRequestArguments {
        title,
        kind,
        body,
        priority,
        effort,
        task,
        workspace,
        server,
    } = arguments;
    let source = match task {
        Some(task) => json!({ "sourceType": "task", "taskId": task }),
        None => json!({ "sourceType": "person", "userId": user() }),
    };
    let mut input =
        json!({ "title": title, "body": text_or_stdin(body)?, "kind": kind, "source": source });
    if let Some(priority) = priority {
        input["priority"] = json!(priority);
    }
    if let Some(effort) = effort {
        input["effort"] = json!(effort);
    }
    if let Some(workspace) = workspace {
        input["agentWorkspace"] = absolute(&workspace)?.into();
    }
    let client = server.client()?;
    let reply = client
        .send_json(Method::POST, "/api/requests", &input)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let made: Request = reply.data()?;
    ui.line(&made.id)?;
    notice_kind(ui, &client, &made).await;
    Ok(())
}

/// Says that nobody takes requests of a kind: it may be mistyped. A server that cannot tell is not worth failing for.
async fn notice_kind(ui: Ui, client: &Client, made: &Request) {
    let Ok(reply) = client.get("/api/dispatch/routes", &[]).await else {
        return;
    };
    let Ok(routes) = reply.data::<Vec<KindRule>>() else {
        return;
    };
    if routes.iter().all(|route| route.kind != made.kind) {
        let kinds: Vec<_> = routes.iter().map(|route| route.kind.as_str()).collect();
        ui.notice(format_args!(
            "no route takes requests of kind {}; those that have one are: {}",
            made.kind,
            kinds.join(", ")
        ));
    }
}

/// Lists all requests that wait for a decision.
async fn undecided(server: &ServerArguments, kind: Option<Kind>) -> Result<Vec<String>, Failure> {
    let client = server.client()?;
    let mut query = vec![
        ("state", RequestState::Needs.as_str().to_owned()),
        ("limit", "1000".to_owned()),
    ];
    query.extend(kind.map(|kind| ("kind", kind.to_string())));
    let mut found = Vec::new();
    loop {
        let mut asked = query.clone();
        asked.extend(found.last().map(|last: &String| ("after", last.clone())));
        let Answer { data, meta } = client
            .get("/api/requests", &asked)
            .await?
            .answer::<Vec<Request>>()?;
        found.extend(data.into_iter().map(|request| request.id.to_string()));
        if meta.next.is_none() {
            return Ok(found);
        }
    }
}

async fn approve(ui: Ui, requests: Vec<String>, server: &ServerArguments) -> Result<(), Failure> {
    if let [request] = requests.as_slice() {
        let reply = post(server, request, "/approve", &json!({})).await?;
        return moved(ui, server, &reply);
    }
    let client = server.client()?;
    // As many as one question takes; what was approved stays approved if a later part is refused.
    for some in requests.chunks(1000) {
        let body = json!({ "ids": some });
        let reply = client
            .send_json(Method::POST, "/api/requests/approve", &body)
            .await?;
        if server.print_json(ui, &reply)? {
            continue;
        }
        for request in reply.data::<Vec<Request>>()? {
            say(ui, &request)?;
        }
    }
    Ok(())
}

/// Says in one line where a request stands now.
fn moved(ui: Ui, server: &ServerArguments, reply: &Reply) -> Result<(), Failure> {
    if server.print_json(ui, reply)? {
        return Ok(());
    }
    say(ui, &reply.data()?)
}

fn say(ui: Ui, request: &Request) -> Result<(), Failure> {
    let holder = request.lease.as_ref();
    let holder = holder.map_or_else(String::new, |lease| format!(" by {}", lease.agent));
    ui.line(format_args!(
        "{} {}{holder}",
        request.id,
        request.state.as_str()
    ))
}

fn routes(ui: Ui, reply: &Reply) -> Result<(), Failure> {
    let mut table = Table::new(&["kind", "agent", "mode", "rank", "options"]);
    for route in reply.data::<Vec<KindRule>>()? {
        let mut options = vec![format!("attempts {}", route.max_attempts)];
        options.extend(route.retry.then(|| "retry".to_owned()));
        options.extend(route.batch.then(|| "batch".to_owned()));
        table.row([
            route.kind.as_str(),
            route.agent.as_str(),
            route.mode.as_str(),
            &route.rank.to_string(),
            &options.join(" "),
        ]);
    }
    ui.table(&table)
}
