//! `chorus mail`

mod show;

use serde_json::{Map, Value};

use super::arguments::{
    InboxArguments, MailCommand, MarkArguments, SendMailArguments, ServerArguments,
};
use super::input::{json_file, optional, text_file, text_or_stdin};
use super::server::token;
use super::ui::{Failure, Ui};
use crate::api::{MailInput, MarkInput};
use crate::client::MailList;
use crate::domain::{Correspondent, Mail, MailVersion, Text};

/// The size of a page of a thread.
const PAGE: u32 = 1000;

pub(super) async fn run(ui: Ui, command: MailCommand) -> Result<(), Failure> {
    match command {
        MailCommand::Send(arguments) => send(ui, *arguments).await,
        MailCommand::Inbox(arguments) => inbox(ui, arguments).await,
        MailCommand::Show { mail, server } => {
            let reply = server.client()?.mail().get(&mail).await?;
            server.show(ui, &reply, |mail| show::one(ui, &mail))
        }
        MailCommand::Ack(arguments) => mark(ui, arguments, true).await,
        MailCommand::Read(arguments) => mark(ui, arguments, false).await,
        MailCommand::Thread { thread, server } => show_thread(ui, &thread, &server).await,
    }
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
        (None, Some(file)) => text_file(&file)?,
        (None, None) => Text::default(),
    };
    // The server knows the sender by CHORUS_TOKEN. Without it, the command sends as the operator, with the operator's token.
    let is_known = token()?.is_some();
    let from = from.or_else(|| (!is_known).then(|| Correspondent::OPERATOR.to_owned()));
    let input = MailInput {
        version: MailVersion::default(),
        mail_type: mail_type.unwrap_or_default(),
        from: from.map(Text::lossy),
        to: to.into_iter().map(Text::lossy).collect(),
        cc: cc.into_iter().map(Text::lossy).collect(),
        thread_id: optional("threadId", thread)?,
        in_reply_to: optional("inReplyTo", reply_to)?,
        subject: Text::lossy(subject),
        body,
        task_id: optional("taskId", task)?,
        handoff_type: handoff_type.map(Text::lossy),
        context: context.map(read_context).transpose()?.unwrap_or_default(),
        previous_attempts: 0,
        urgency: urgency.unwrap_or_default(),
        ack_required: ack,
    };
    let reply = server.client()?.mail().send(&input).await?;
    server.show(ui, &reply, |mail| ui.line(&mail.id))
}

fn read_context(context: String) -> Result<Map<String, Value>, Failure> {
    let text = if context == "-" {
        json_file("-".as_ref())?.get().to_owned()
    } else {
        context
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("--context is not a JSON object: {error}")))
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
        .map_err(|error| Failure::new(format!("{name:?} is not a valid name: it {error}")))?;
    let list = MailList {
        to: Some(name.clone()),
        pending: !overdue && !all && search.is_none(),
        overdue,
        words: search,
        limit: Some(limit),
        after: after.map(Into::into),
        ..MailList::default()
    };
    let client = server.client()?;
    let reply = client.mail().list(&list).await?;
    if reply.data()?.is_empty()
        && ![Correspondent::OPERATOR, Correspondent::ROUTER].contains(&name.as_str())
    {
        // A name that nobody has is more likely a typing error than an empty inbox.
        client.agents().get(&name).await?;
    }
    server.show_list(ui, &reply, |answer| show::table(answer, &reader))
}

async fn mark(ui: Ui, arguments: MarkArguments, acknowledge: bool) -> Result<(), Failure> {
    let MarkArguments {
        mail,
        recipient,
        server,
    } = arguments;
    let recipient = optional::<Correspondent>("recipient", recipient)?;
    let input = MarkInput {
        recipient: recipient.clone(),
    };
    let client = server.client()?;
    let (reply, what) = if acknowledge {
        let reply = client.mail().acknowledge(&mail, &input).await?;
        (reply, "acknowledged")
    } else {
        (client.mail().mark_read(&mail, &input).await?, "read")
    };
    server.show(ui, &reply, |mail| {
        let reader = marked_recipient(&mail, recipient);
        let reader = reader.map_or_else(String::new, |reader| format!(" for {reader}"));
        ui.line(format_args!("{} {what}{reader}", mail.id))
    })
}

/// Returns the recipient whose mark has changed, which the server finds in the same way: a run's agent, the named one, the only one, or
/// the operator.
fn marked_recipient(mail: &Mail, named: Option<Correspondent>) -> Option<Correspondent> {
    let agent = std::env::var("CHORUS_AGENT").ok();
    let agent = agent.and_then(|agent| Correspondent::parse(agent).ok());
    let is_recipient =
        |name: &Correspondent| mail.recipients.iter().any(|each| each.recipient == *name);
    match (
        agent.filter(is_recipient),
        named,
        mail.recipients.as_slice(),
    ) {
        (Some(agent), _, _) => Some(agent),
        (None, Some(named), _) => Some(named),
        (None, None, [only]) => Some(only.recipient.clone()),
        (None, None, _) => Some(Correspondent::operator()).filter(is_recipient),
    }
}

/// Shows a thread, given its id or any mail in it.
async fn show_thread(ui: Ui, thread: &str, server: &ServerArguments) -> Result<(), Failure> {
    let client = server.client()?;
    let mut list = MailList {
        thread: Some(thread.to_owned()),
        limit: Some(PAGE),
        ..MailList::default()
    };
    let mut reply = client.mail().list(&list).await?;
    if reply.data()?.is_empty() {
        let mail = client.mail().get(thread).await?.data()?;
        list.thread = Some(mail.thread_id.to_string());
        reply = client.mail().list(&list).await?;
    }
    loop {
        server.show(ui, &reply, |mails| {
            mails.iter().try_for_each(|mail| {
                show::one(ui, mail)?;
                ui.line("")
            })
        })?;
        list.after = reply.answer()?.meta.next;
        if list.after.is_none() {
            return Ok(());
        }
        reply = client.mail().list(&list).await?;
    }
}
