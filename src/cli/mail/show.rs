//! Mail on the screen.

use super::super::ui::{Failure, Table, Ui, printable, time};
use crate::api::Answer;
use crate::domain::{Address, Correspondent, Mail, Recipient, Timestamp};

pub(super) fn table(answer: &Answer<Vec<Mail>>, reader: &Correspondent) -> Table {
    let now = answer.meta.timestamp;
    let mut table = Table::new(
        "No mail found; `--all` also shows mail that was read",
        &["id", "sent", "from", "type", "urgency", "state", "subject"],
    );
    for mail in &answer.data {
        let own = mail.recipient(reader);
        table.row([
            mail.id.as_str(),
            &time(mail.sent_at),
            &sender(mail),
            mail.mail_type.as_str(),
            mail.urgency.as_str(),
            &own.map_or_else(String::new, |own| state(mail, own, now)),
            mail.subject.as_str(),
        ]);
    }
    table
}

fn sender(mail: &Mail) -> String {
    if mail.from_verified {
        mail.from.to_string()
    } else {
        format!("{} (not verified)", mail.from)
    }
}

/// Formats the state of a mail for one recipient.
fn state(mail: &Mail, own: &Recipient, now: Timestamp) -> String {
    let seen = if own.acknowledged_at.is_some() {
        "acknowledged"
    } else if own.read_at.is_some() {
        "read"
    } else if own.delivered_at.is_some() {
        "delivered"
    } else {
        "unread"
    };
    let is_overdue = mail.overdue(now).any(|each| each == own);
    if is_overdue {
        format!("{seen}, ack overdue")
    } else if mail.is_owed_by(own) {
        format!("{seen}, ack wanted")
    } else {
        seen.to_owned()
    }
}

pub(super) fn one(ui: Ui, mail: &Mail) -> Result<(), Failure> {
    let joined = |all: &[Address]| {
        let all: Vec<_> = all.iter().map(ToString::to_string).collect();
        all.join(", ")
    };
    let mut lines = vec![
        format!("mail      {}", mail.id),
        format!("subject   {}", mail.subject),
        format!("type      {}", mail.mail_type.as_str()),
        format!("from      {}", sender(mail)),
        format!("to        {}", joined(&mail.to)),
    ];
    if !mail.cc.is_empty() {
        lines.push(format!("cc        {}", joined(&mail.cc)));
    }
    lines.push(format!("sent      {}", time(mail.sent_at)));
    lines.push(format!("urgency   {}", mail.urgency.as_str()));
    lines.push(format!("thread    {}", mail.thread_id));
    lines.extend(mail.task_id.as_ref().map(|id| format!("task      {id}")));
    lines.extend(mail.handoff_id.as_ref().map(|id| format!("hand-off  {id}")));
    let handoff_type = mail.handoff_type.as_ref();
    lines.extend(handoff_type.map(|it| format!("kind      {it}")));
    if mail.previous_attempts > 0 {
        lines.push(format!("attempts  {} earlier", mail.previous_attempts));
    }
    lines.extend(
        mail.ack_due_at
            .map(|due| format!("ack by    {}", time(due))),
    );
    if !mail.body.is_blank() {
        lines.push(format!("\n{}", mail.body.as_str().trim_end()));
    }
    if !mail.context.is_empty() {
        lines.push("\nContext".to_owned());
        lines.extend(
            mail.context
                .iter()
                .map(|(key, value)| format!("  {key}: {value}")),
        );
    }
    lines.push("\nRecipients".to_owned());
    lines.extend(mail.recipients.iter().map(recipient));
    ui.line(printable(&lines.join("\n")))
}

fn recipient(own: &Recipient) -> String {
    let mut parts = vec![if own.cc {
        format!("{} (cc)", own.recipient)
    } else {
        own.recipient.to_string()
    }];
    let at = |what: &str, at: Option<Timestamp>| at.map(|at| format!("{what} {}", time(at)));
    parts.extend(at("delivered", own.delivered_at));
    parts.push(at("read", own.read_at).unwrap_or_else(|| "not read".to_owned()));
    parts.extend(at("acknowledged", own.acknowledged_at));
    format!("  {}", parts.join(", "))
}
