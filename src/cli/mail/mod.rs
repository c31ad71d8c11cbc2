//! `chorus mail`

mod show;

use reqwest::Method;
use serde_json::{Value, json};

use super::arguments::{
    InboxArguments, MailCommand, MarkArguments, SendMailArguments, ServerArguments,
};
use super::server::{json_file, segment, text_or_stdin};
use super::ui::{Failure, Ui};
use crate::client::{Client, Reply};
use crate::domain::{Correspondent, Mail};

/// How much of a thread is asked for at once.
const PAGE: &str = "1000";

pub(super) async fn run(ui: Ui, command: MailCommand) -> Result<(), Failure> {
    match command {
        MailCommand::Send(arguments) => send(ui, *arguments).await,
        MailCommand::Inbox(arguments) => inbox(ui, arguments).await,
        MailCommand::Show { mail, server } => {
            let reply = server.client()?.get(&path(&mail, ""), &[]).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            show::one(ui, &reply.data()?)
        }
        MailCommand::Ack(arguments) => mark(ui, &arguments, "/ack", "acknowledged").await,
        MailCommand::Read(arguments) => mark(ui, &arguments, "/read", "read").await,
        MailCommand::Thread { thread, server } => show_thread(ui, &thread, &server).await,
    }
}

fn path(mail: &str, action: &str) -> String {
    format!("/api/mail/{}{action}", segment(mail))
}

async fn send(ui: Ui, arguments: SendMailArguments) -> Result<(), Failure> {
    let SendMailArguments {
        to,
        subject,
        body,
        body_file,
        cc,
        mail_type,
        task,
        thread,
        reply_to,
        urgency,
        ack,
        context,
        handoff_type,
        from,
        server,
    } = arguments;
    let body = match (body, body_file) {
        (Some(body), _) => text_or_stdin(body)?,
        (None, Some(file)) if file.as_os_str() == "-" => text_or_stdin("-".to_owned())?,
        (None, Some(file)) => std::fs::read_to_string(&file)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?,
        (None, None) => String::new(),
    };
    let mut input =
        json!({ "to": to, "cc": cc, "subject": subject, "body": body, "ackRequired": ack });
    // Who shows a token is known by it; who does not is the operator, and is asked for the operator's.
    let is_known = std::env::var("CHORUS_TOKEN").is_ok_and(|token| !token.is_empty());
    let from = from.or_else(|| (!is_known).then(|| Correspondent::OPERATOR.to_owned()));
    for (key, value) in [
        ("from", from),
        ("type", mail_type.map(|it| it.as_str().to_owned())),
        ("urgency", urgency.map(|it| it.as_str().to_owned())),
        ("taskId", task),
        ("threadId", thread),
        ("inReplyTo", reply_to),
        ("handoffType", handoff_type),
    ] {
        if let Some(value) = value {
            input[key] = value.into();
        }
    }
    if let Some(context) = context {
        input["context"] = read_context(context)?;
    }
    let client = server.client()?;
    let reply = client.send_json(Method::POST, "/api/mail", &input).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    ui.line(&reply.data::<Mail>()?.id)
}

fn read_context(context: String) -> Result<Value, Failure> {
    let text = if context == "-" {
        json_file("-".as_ref())?.get().to_owned()
    } else {
        context
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("--context is not JSON: {error}")))
}

async fn inbox(ui: Ui, arguments: InboxArguments) -> Result<(), Failure> {
    let InboxArguments {
        name,
        all,
        overdue,
        search,
        limit,
        after,
        server,
    } = arguments;
    let reader = Correspondent::parse(name.as_str())
        .map_err(|error| Failure::new(format!("{name:?} is no name: it {error}")))?;
    let mut query = vec![("to", name), ("limit", limit.to_string())];
    if overdue {
        query.push(("overdue", "true".to_owned()));
    } else if !all && search.is_none() {
        query.push(("pending", "true".to_owned()));
    }
    query.extend(search.map(|words| ("q", words)));
    query.extend(after.map(|after| ("after", after)));
    let reply = server.client()?.get("/api/mail", &query).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    show::list(ui, &reply, &reader)
}

async fn mark(ui: Ui, arguments: &MarkArguments, action: &str, done: &str) -> Result<(), Failure> {
    let mut body = json!({});
    if let Some(recipient) = &arguments.recipient {
        body["recipient"] = recipient.as_str().into();
    }
    let server = &arguments.server;
    let client = server.client()?;
    let reply = client
        .send_json(Method::POST, &path(&arguments.mail, action), &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    ui.line(format_args!("{} {done}", reply.data::<Mail>()?.id))
}

/// Shows a thread, which is named by its id or by any mail in it.
async fn show_thread(ui: Ui, thread: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let mut reply = page_of(&client, thread, None).await?;
    let mut answer = reply.answer::<Vec<Mail>>()?;
    let mut thread = thread.to_owned();
    if answer.data.is_empty() {
        let mail: Mail = client.get(&path(&thread, ""), &[]).await?.data()?;
        thread = mail.thread_id.to_string();
        reply = page_of(&client, &thread, None).await?;
        answer = reply.answer()?;
    }
    loop {
        if !server.print_json(ui, &reply)? {
            for mail in &answer.data {
                show::one(ui, mail)?;
                ui.line("")?;
            }
        }
        let Some(next) = answer.meta.next else {
            return Ok(());
        };
        reply = page_of(&client, &thread, Some(next)).await?;
        answer = reply.answer()?;
    }
}

async fn page_of(client: &Client, thread: &str, after: Option<String>) -> Result<Reply, Failure> {
    let mut query = vec![("thread", thread.to_owned()), ("limit", PAGE.to_owned())];
    query.extend(after.map(|after| ("after", after)));
    Ok(client.get("/api/mail", &query).await?)
}
