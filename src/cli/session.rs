//! `chorus session`

use serde::Serialize;

use super::arguments::{ServerArguments, SessionCommand, SessionHandoffArguments};
use super::progress::Progress;
use super::server::{json_file, segment};
use super::ui::{Failure, Table, Ui, duration, one_line, outcome, printable, time};
use super::wait::{follow, get_patiently, post_once, print_end};
use crate::api::{Answer, Count, SessionHandoffStarted};
use crate::client::Client;
use crate::domain::{ConversationHistory, Session, SessionHandoff};

pub(super) async fn run(ui: Ui, command: SessionCommand) -> Result<(), Failure> {
    match command {
        SessionCommand::List {
            limit,
            after,
            server,
        } => list(ui, limit, after, &server).await,
        SessionCommand::Show { session, server } => show(ui, &session, &server).await,
        SessionCommand::Handoff(arguments) => hand_off(ui, arguments).await,
        SessionCommand::Count {
            session,
            from,
            to,
            server,
        } => {
            let mut query = Vec::new();
            query.extend(from.map(|from| ("from", from)));
            query.extend(to.map(|to| ("to", to)));
            let path = format!("{}/handoffs/count", path(&session));
            let reply = server.client()?.get(&path, &query).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            ui.line(reply.data::<Count>()?.count)
        }
    }
}

fn path(session: &str) -> String {
    format!("/api/sessions/{}", segment(session))
}

async fn list(
    ui: Ui,
    limit: u32,
    after: Option<String>,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let mut query = vec![("limit", limit.to_string())];
    query.extend(after.map(|after| ("after", after)));
    let reply = server.client()?.get("/api/sessions", &query).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let Answer { data, meta } = reply.answer::<Vec<Session>>()?;
    let mut table = Table::new(&["id", "agent", "works", "handoffs", "updated", "task"]);
    for session in &data {
        table.row([
            session.id.as_str(),
            session.agent_name.as_str(),
            session
                .current_agent
                .as_ref()
                .map_or("-", |agent| agent.as_str()),
            &session.handoffs.to_string(),
            &time(session.updated_at),
            session.task_id.as_str(),
        ]);
    }
    ui.table(&table)?;
    if let Some(next) = meta.next {
        ui.notice(format_args!("There are more: --after {}", one_line(&next)));
    }
    Ok(())
}

async fn show(ui: Ui, id: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let session: Session = client.get(&path(id), &[]).await?.data()?;
    let handoffs = format!("{}/handoffs", path(id));
    let mut reply = client.get(&handoffs, &[]).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let lines = [
        format!("session  {}", session.id),
        format!("task     {}", session.task_id),
        format!("agent    {}", session.agent_name),
        format!(
            "works    {}",
            session
                .current_agent
                .as_ref()
                .map_or("-", |agent| agent.as_str())
        ),
        format!("created  {}", time(session.created_at)),
        format!("updated  {}", time(session.updated_at)),
        format!("\nHand-offs ({})", session.handoffs),
    ];
    ui.line(printable(&lines.join("\n")))?;
    loop {
        let Answer { data, meta } = reply.answer::<Vec<SessionHandoff>>()?;
        for handoff in &data {
            ui.line(entry(handoff))?;
        }
        let Some(next) = meta.next else {
            return Ok(());
        };
        reply = client.get(&handoffs, &[("after", next)]).await?;
    }
}

/// Writes one move of a conversation.
fn entry(handoff: &SessionHandoff) -> String {
    let how = match (handoff.completed_at, handoff.outcome) {
        _ if !handoff.invoked => "only recorded".to_owned(),
        (Some(at), Some(how)) => format!(
            "{} after {}",
            outcome(how),
            duration(at.as_millis() - handoff.created_at.as_millis())
        ),
        _ => "works".to_owned(),
    };
    format!(
        "  {}  {} → {}  {how}\n    reason  {}\n    intent  {}",
        time(handoff.created_at),
        handoff.from_agent,
        handoff.to_agent,
        one_line(handoff.reason.as_str()),
        one_line(handoff.user_intent.as_str())
    )
}

/// What is sent to move a conversation. The history goes as it is written, because it may have what no text can have.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    from_agent: String,
    to_agent: String,
    reason: String,
    user_intent: String,
    conversation_history: ConversationHistory,
    harness_trace_id: Option<String>,
    invoke: bool,
}

/// Returns what was said before the session moved last; nothing if it is new.
async fn last_history(client: &Client, session: &str) -> Result<ConversationHistory, Failure> {
    let last = format!("{}/handoffs/last", path(session));
    let last: Option<SessionHandoff> = get_patiently(client, &last, &[], None).await?.data()?;
    Ok(last.map_or_else(ConversationHistory::default, |last| {
        last.conversation_history
    }))
}

async fn hand_off(ui: Ui, arguments: SessionHandoffArguments) -> Result<(), Failure> {
    let SessionHandoffArguments {
        session,
        from,
        to,
        reason,
        intent,
        history,
        harness_trace,
        no_invoke,
        wait,
        server,
    } = arguments;
    let client = server.client()?;
    let conversation_history = match history {
        Some(file) => ConversationHistory::from_raw(json_file(&file)?),
        None => last_history(&client, &session).await?,
    };
    let body = Body {
        from_agent: from,
        to_agent: to,
        reason,
        user_intent: intent,
        conversation_history,
        harness_trace_id: harness_trace,
        invoke: !no_invoke,
    };
    let progress = if wait {
        Progress::begin(ui, &client).await
    } else {
        Progress::none(ui)
    };
    let reply = post_once(&client, &format!("{}/handoffs", path(&session)), &body).await?;
    let started: SessionHandoffStarted = reply.data()?;
    if !wait {
        return if server.print_json(ui, &reply)? {
            Ok(())
        } else {
            ui.line(&started.id)
        };
    }
    ui.notice(format_args!(
        "{} works on {} (hand-off {})",
        one_line(&body.to_agent),
        started.task_id,
        started.id
    ));
    let reply = follow(ui, &client, progress, started.id, None).await?;
    print_end(ui, &server, &client, &reply)
}
