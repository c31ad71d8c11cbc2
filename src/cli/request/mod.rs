//! `chorus request`

mod show;
mod top;
mod waiting;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::value::RawValue;

use super::alert;
use super::arguments::{CreateRequestArguments, RequestArgument, RequestCommand, ServerArguments};
use super::input::{absolute, field, json_file, text_or_stdin, user};
use super::ui::{Failure, Table, Ui};
use crate::api::{
    Answer, ApproveInput, ClaimInput, DoneInput, HeartbeatInput, RequestInput, RequeueInput,
    WithdrawInput,
};
use crate::client::{Client, ClientError, Input, Reply, RequestList};
use crate::domain::{
    Kind, KindRule, Request, RequestSource, RequestSourceType, RequestState, Text,
};
pub(super) use waiting::wait;

/// The limit of the API for one list and for one approval.
const MOST_AT_ONCE: u32 = 1000;

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
            let list = RequestList {
                kind,
                state: state.map(Into::into),
                priority,
                withdrawn,
                limit,
                after: after.map(Into::into),
            };
            let client = server.client()?;
            let reply = client.requests().list(&list).await?;
            server.show_list(ui, &reply, show::table)?;
            if !server.json {
                if let Some(kind) = &list.kind
                    && reply.data()?.is_empty()
                {
                    notice_kind(ui, &client, kind).await;
                }
                alert::notice_active(ui, &client).await;
            }
            Ok(())
        }
        RequestCommand::Show { request, server } => {
            let reply = server.client()?.requests().get(&request).await?;
            server.show(ui, &reply, |request| show::one(ui, &request))
        }
        RequestCommand::Approve {
            requests,
            all,
            kind,
            server,
        } => {
            let client = server.client()?;
            if requests.is_empty() && !all {
                return Err(
                    Failure::usage("No request was named: name requests, or use --all").with_hint(
                        "`chorus request list --state needs` lists the undecided requests",
                    ),
                );
            }
            let requests = if all {
                undecided(&client, kind).await?
            } else {
                requests.into_iter().map(Into::into).collect()
            };
            approve(ui, &client, &requests, &server).await
        }
        RequestCommand::Next { requests, server } => {
            let client = server.client()?;
            let leave = async |request: &str| client.requests().leave_to_next(request).await;
            each(ui, &server, requests, leave).await
        }
        RequestCommand::Withdraw {
            requests,
            reason,
            server,
        } => {
            let reason = reason.map(text_or_stdin).transpose()?;
            let client = server.client()?;
            let input = WithdrawInput { reason };
            let withdraw = async |request: &str| client.requests().withdraw(request, &input).await;
            each(ui, &server, requests, withdraw).await
        }
        RequestCommand::Claim {
            request,
            agent,
            lease,
            server,
        } => {
            let agent = agent.or_else(|| std::env::var("USER").ok());
            let agent = agent.ok_or_else(|| Failure::new("a claim needs a name: use --as NAME"))?;
            let input = ClaimInput {
                agent: field("agent", agent)?,
                lease_seconds: lease,
            };
            let reply = server.client()?.requests().claim(&request, &input).await?;
            server.show(ui, &reply, |claimed| ui.line(claimed.attempts))
        }
        RequestCommand::Heartbeat {
            request,
            fencing,
            lease,
            server,
        } => {
            let input = HeartbeatInput {
                fencing,
                lease_seconds: lease,
            };
            let client = server.client()?;
            let reply = client.requests().heartbeat(&request, &input).await?;
            moved(ui, &server, &reply)
        }
        RequestCommand::Done {
            request,
            response,
            fencing,
            server,
        } => {
            let response = text_or_stdin(response)?;
            let input = DoneInput { response, fencing };
            let reply = server.client()?.requests().finish(&request, &input).await?;
            moved(ui, &server, &reply)
        }
        RequestCommand::Requeue {
            request,
            reason,
            fencing,
            server,
        } => {
            let reason = text_or_stdin(reason)?;
            let input = RequeueInput { reason, fencing };
            let client = server.client()?;
            let reply = client.requests().requeue(&request, &input).await?;
            moved(ui, &server, &reply)
        }
        RequestCommand::Wait(arguments) => wait(ui, arguments).await,
        RequestCommand::Top { server } => top::run(ui, &server).await,
        RequestCommand::Kinds { set, server } => {
            let client = server.client()?;
            let reply = match set {
                None => client.dispatch().rules().await?,
                Some(file) => {
                    let rules = Input::Json(without_envelope(json_file(&file)?));
                    let reply = client.dispatch().set_rules(&rules).await;
                    reply.map_err(|error| in_file(error.into(), &file))?
                }
            };
            server.show_list(ui, &reply, rules)
        }
        RequestCommand::Template {
            kind,
            response,
            data,
        } => super::template::run(ui, &data.data_dir, &kind, response),
    }
}

/// Names the file and the number of a rule, where the API names the place in a list.
fn in_file(mut failure: Failure, file: &Path) -> Failure {
    let place = |field: &str| {
        let (number, name) = field.strip_prefix("routes[")?.split_once(']')?;
        let number = number.parse::<usize>().ok()? + 1;
        let name = name.trim_start_matches('.');
        let rule = format!("{}, rule {number}", file.display());
        Some(if name.is_empty() {
            rule
        } else {
            format!("{rule}: {name}")
        })
    };
    for problem in &mut failure.problems {
        if let Some(place) = place(&problem.field) {
            problem.field = place;
        }
    }
    if let Some((field, rest)) = failure.message.split_once(": ")
        && let Some(place) = place(field)
    {
        failure.message = format!("{place}: {rest}");
    }
    failure
}

/// Takes the data out of an answer, so that the output of `--json` can be edited and sent back.
fn without_envelope(json: Box<RawValue>) -> Box<RawValue> {
    let answer = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(json.get());
    let data = answer.ok().and_then(|mut answer| answer.remove("data"));
    data.unwrap_or(json)
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
        Some(task) => RequestSource {
            source_type: RequestSourceType::Task,
            task_id: Some(field("source.taskId", task)?),
            ..RequestSource::default()
        },
        None => RequestSource {
            source_type: RequestSourceType::Person,
            user_id: Some(user()),
            ..RequestSource::default()
        },
    };
    let input = RequestInput {
        title: Text::lossy(title),
        body: text_or_stdin(body)?,
        kind,
        priority: priority.unwrap_or_default(),
        effort,
        source: Some(source),
        agent_workspace: workspace.as_deref().map(absolute).transpose()?,
    };
    let client = server.client()?;
    let reply = client.requests().create(&input).await?;
    server.show(ui, &reply, |made| ui.line(&made.id))?;
    if !server.json {
        notice_kind(ui, &client, &input.kind).await;
    }
    Ok(())
}

/// Warns of a kind without a rule, which may be a typing error. Failures are ignored: the request has been created.
async fn notice_kind(ui: Ui, client: &Client, kind: &Kind) {
    let reply = client.dispatch().rules().await;
    let Ok(rules) = reply.and_then(|reply| reply.data()) else {
        return;
    };
    if rules.iter().all(|rule| rule.kind != *kind) {
        let kinds: Vec<_> = rules.iter().map(|rule| rule.kind.as_str()).collect();
        let advice = if kinds.is_empty() {
            "name one with `chorus request kinds --set FILE`".to_owned()
        } else {
            format!("kinds with an agent: {}", kinds.join(", "))
        };
        ui.notice(format_args!(
            "no agent handles requests of kind {kind}; {advice}"
        ));
    }
}

/// Returns the ids of all requests that wait for a decision.
async fn undecided(client: &Client, kind: Option<Kind>) -> Result<Vec<String>, Failure> {
    let mut list = RequestList {
        kind,
        state: Some(RequestState::Needs),
        limit: Some(MOST_AT_ONCE),
        ..RequestList::default()
    };
    let mut found = Vec::new();
    loop {
        let Answer { data, meta } = client.requests().list(&list).await?.answer()?;
        found.extend(data.into_iter().map(|request| request.id.to_string()));
        list.after = meta.next;
        if list.after.is_none() {
            return Ok(found);
        }
    }
}

async fn approve(
    ui: Ui,
    client: &Client,
    requests: &[String],
    server: &ServerArguments,
) -> Result<(), Failure> {
    if let [request] = requests {
        return moved(ui, server, &client.requests().approve(request).await?);
    }
    // A refusal of a later chunk does not undo the approval of an earlier one.
    for some in requests.chunks(MOST_AT_ONCE as usize) {
        let ids = some.iter().map(|id| field("ids", id.clone()));
        let ids = ids.collect::<Result<_, Failure>>()?;
        let reply = client.requests().approve_all(&ApproveInput { ids }).await?;
        server.show(ui, &reply, |approved| {
            approved.iter().try_for_each(|request| say(ui, request))
        })?;
    }
    Ok(())
}

/// Moves each request. A refusal does not hold up the others; the first one is the failure of the command.
async fn each(
    ui: Ui,
    server: &ServerArguments,
    requests: Vec<RequestArgument>,
    act: impl AsyncFn(&str) -> Result<Reply<Request>, ClientError>,
) -> Result<(), Failure> {
    let mut first = None;
    for request in requests {
        match act(&request).await.map_err(Failure::from) {
            Ok(reply) => moved(ui, server, &reply)?,
            Err(failure) if first.is_none() => first = Some(failure),
            Err(failure) => ui.notice(failure.message),
        }
    }
    first.map_or(Ok(()), Err)
}

/// Prints the state of a request that was changed.
fn moved(ui: Ui, server: &ServerArguments, reply: &Reply<Request>) -> Result<(), Failure> {
    server.show(ui, reply, |request| say(ui, &request))
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

fn rules(answer: &Answer<Vec<KindRule>>) -> Table {
    let mut table = Table::new(
        "No kind of request has an agent; set them with `chorus request kinds --set FILE`",
        &["kind", "agent", "mode", "rank", "options"],
    );
    for rule in &answer.data {
        let mut options = vec![format!("attempts {}", rule.max_attempts)];
        options.extend(rule.retry.then(|| "retry".to_owned()));
        options.extend(rule.batch.then(|| "batch".to_owned()));
        table.row([
            rule.kind.as_str(),
            rule.agent.as_str(),
            rule.mode.as_str(),
            &rule.rank.to_string(),
            &options.join(" "),
        ]);
    }
    table
}
