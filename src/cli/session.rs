//! `chorus session`

use serde_json::Value;

use super::arguments::{ServerArguments, SessionCommand, SessionHandoffArguments};
use super::input::json_file;
use super::progress::{Followed, Progress};
use super::server::print_answer;
use super::ui::{Failure, Table, Ui, duration, one_line, outcome, printable, time};
use super::wait::{follow, handed, patient, print_end};
use crate::api::Answer;
use crate::client::{Client, Reply, SessionMoveInput};
use crate::domain::{ConversationHistory, Session, SessionHandoff};

pub(super) async fn run(ui: Ui, command: SessionCommand) -> Result<(), Failure> {
    match command {
        SessionCommand::List {
            limit,
            after,
            server,
        } => {
            let client = server.client()?;
            let reply = client.sessions().list(limit, after.as_deref()).await?;
            server.show_list(ui, &reply, table)
        }
        SessionCommand::Show { session, server } => show(ui, &session, &server).await,
        SessionCommand::Handoff(arguments) => hand_off(ui, arguments).await,
        SessionCommand::Count {
            session,
            from,
            to,
            server,
        } => {
            let client = server.client()?;
            // The count of an unknown session is 0, too.
            client.sessions().get(&session).await?;
            let (from, to) = (from.as_deref(), to.as_deref());
            let reply = client.sessions().count_handoffs(&session, from, to).await?;
            server.show(ui, &reply, |handoffs| ui.line(handoffs.count))
        }
    }
}

fn table(answer: &Answer<Vec<Session>>) -> Table {
    let mut table = Table::new(
        "No sessions found",
        &["id", "agent", "working", "handoffs", "updated", "task"],
    );
    for session in &answer.data {
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
    table
}

async fn show(ui: Ui, id: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let session = client.sessions().get(id).await?.data()?;
    let mut reply = client.sessions().handoffs(id, None).await?;
    if server.json {
        return print_pages(ui, &client, id, &reply).await;
    }
    let lines = [
        format!("session  {}", session.id),
        format!("task     {}", session.task_id),
        format!("agent    {}", session.agent_name),
        format!(
            "working  {}",
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
        let Answer { data, meta } = reply.answer()?;
        for handoff in &data {
            ui.line(entry(handoff))?;
        }
        let Some(next) = meta.next else {
            return Ok(());
        };
        reply = client.sessions().handoffs(id, Some(&next)).await?;
    }
}

/// Prints all hand-offs of a session as one answer.
async fn print_pages(
    ui: Ui,
    client: &Client,
    id: &str,
    first: &Reply<Vec<SessionHandoff>>,
) -> Result<(), Failure> {
    let mut answer = first.read::<Vec<Value>>()?;
    if answer.meta.next.is_none() {
        return ui.text(&first.text);
    }
    while let Some(next) = answer.meta.next.take() {
        let page = client.sessions().handoffs(id, Some(&next)).await?;
        let Answer { data, meta } = page.read::<Vec<Value>>()?;
        answer.data.extend(data);
        answer.meta = meta;
    }
    print_answer(ui, &answer)
}

/// Formats one move of a conversation.
fn entry(handoff: &SessionHandoff) -> String {
    let how = match (handoff.completed_at, handoff.outcome) {
        _ if !handoff.invoked => "only recorded".to_owned(),
        (Some(at), Some(how)) => format!(
            "{} after {}",
            outcome(how),
            duration(at.as_millis() - handoff.created_at.as_millis())
        ),
        _ => "working".to_owned(),
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

/// Returns the history of the last move; an empty one for a new session.
async fn last_history(client: &Client, session: &str) -> Result<ConversationHistory, Failure> {
    let last = patient(client, None).sessions().last_handoff(session).await;
    let last = last?.data()?;
    Ok(last
        .map(|last| last.conversation_history)
        .unwrap_or_default())
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
    let input = SessionMoveInput {
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
    let reply = patient(&client, None)
        .sessions()
        .hand_off(&session, &input)
        .await?;
    let started = reply.data()?;
    if !wait {
        return server.show(ui, &reply, |_| ui.line(&started.id));
    }
    ui.notice(handed(
        &started.task_id,
        &one_line(&input.to_agent),
        &started.id,
    ));
    let followed = Followed {
        task: started.task_id,
        handoff: started.id,
    };
    let reply = follow(ui, &client, progress, followed, None).await?;
    print_end(ui, &server, &reply)
}
