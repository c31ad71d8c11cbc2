//! Mail between agents, people and the router.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::address::{Address, Correspondent};
use super::mail_type::MailType;
use super::urgency::Urgency;
use crate::domain::text::id;
use crate::domain::{HandoffId, TaskId, Text, Timestamp};

id::id! {
    /// The id of a mail.
    MailId
}

id::name! {
    /// The id of a thread: the id of its first mail, or a name chosen by a sender.
    ThreadId
}

impl From<&MailId> for ThreadId {
    fn from(id: &MailId) -> Self {
        Self(id.to_string())
    }
}

/// The version of the mail format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum MailVersion {
    /// The first version.
    #[default]
    #[serde(rename = "1.0.0")]
    V1,
}

/// A mail with its delivery state for each recipient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a mail")]
pub struct Mail {
    /// The id of the mail.
    pub id: MailId,
    /// The version of the format.
    #[schema(inline)]
    pub version: MailVersion,
    /// The subject matter.
    #[serde(rename = "type")]
    #[schema(inline)]
    pub mail_type: MailType,
    /// The sender.
    pub from: Correspondent,
    /// Whether a token proves the sender; otherwise the sender is a claim of a person on this machine.
    pub from_verified: bool,
    /// The addressees.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Address>,
    /// The addressees of copies.
    #[schema(value_type = Vec<String>)]
    pub cc: Vec<Address>,
    /// The thread: the id of its first mail, or a name chosen by a sender.
    pub thread_id: ThreadId,
    /// The subject in one line.
    #[schema(value_type = String)]
    pub subject: Text,
    /// The text of the mail.
    #[schema(value_type = String)]
    pub body: Text,
    /// The task of the mail.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The hand-off that the mail accompanied.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// The type of the hand-off, such as `implementation_to_testing`.
    #[schema(required, value_type = Option<String>)]
    pub handoff_type: Option<Text>,
    /// Named values for the recipient.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// The number of earlier attempts at the work.
    pub previous_attempts: u32,
    /// How soon the mail should be acknowledged.
    #[schema(inline)]
    pub urgency: Urgency,
    /// Whether the recipients in `to` must acknowledge the mail.
    pub ack_required: bool,
    /// The deadline of the acknowledgement; null if none is required.
    #[schema(required)]
    pub ack_due_at: Option<Timestamp>,
    /// The time of sending.
    pub sent_at: Timestamp,
    /// The recipients, each with its delivery state.
    pub recipients: Vec<Recipient>,
}

/// A recipient of a mail, with its delivery state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recipient {
    /// An agent, or `operator`.
    pub recipient: Correspondent,
    /// Whether the recipient gets a copy only.
    pub cc: bool,
    /// The time at which the mail was first part of a prompt; null before, and for the operator.
    #[schema(required)]
    pub delivered_at: Option<Timestamp>,
    /// The time of reading: the hand-off with the mail in its prompt completed, or the mail was marked as read.
    #[schema(required)]
    pub read_at: Option<Timestamp>,
    /// The time of the acknowledgement.
    #[schema(required)]
    pub acknowledged_at: Option<Timestamp>,
    /// The last hand-off whose prompt has the mail.
    #[serde(default)]
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
}

/// The content of a mail to send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MailContent {
    pub mail_type: MailType,
    pub subject: Text,
    pub body: Text,
    pub task_id: Option<TaskId>,
    pub handoff_type: Option<Text>,
    pub context: Map<String, Value>,
    pub previous_attempts: u32,
    pub urgency: Urgency,
    pub ack_required: bool,
    /// `None` starts a new thread.
    pub thread_id: Option<ThreadId>,
}

/// A mail to send.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMail {
    pub id: MailId,
    pub from: Correspondent,
    /// Whether a token proves the sender.
    pub from_verified: bool,
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    pub handoff_id: Option<HandoffId>,
    pub content: MailContent,
}

impl Mail {
    /// Finds a recipient by name, without case.
    pub fn recipient(&self, who: &Correspondent) -> Option<&Recipient> {
        self.recipients
            .iter()
            .find(|each| each.recipient.is_named(who.as_str()))
    }

    /// Whether the recipient still has to acknowledge the mail.
    pub const fn is_owed_by(&self, recipient: &Recipient) -> bool {
        self.ack_required && !recipient.cc && recipient.acknowledged_at.is_none()
    }

    /// Lists the recipients whose acknowledgement is late.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &Recipient> {
        let is_late = self.ack_due_at.is_some_and(|due| due < now);
        self.recipients
            .iter()
            .filter(move |each| is_late && self.is_owed_by(each))
    }

    /// Checks an imported mail for contradictions.
    pub fn check(&self) -> Result<(), String> {
        check_subject(&self.subject)?;
        if let Some(handoff_type) = &self.handoff_type {
            check_handoff_type(handoff_type)?;
        }
        if self.to.is_empty() {
            return Err("`to` must not be empty".to_owned());
        }
        if self.ack_required != self.ack_due_at.is_some() {
            return Err("`ackDueAt` must be set if and only if `ackRequired` is true".to_owned());
        }
        if self.recipients.iter().all(|each| each.cc) {
            return Err("`recipients` must include at least one without `cc`".to_owned());
        }
        for (place, each) in self.recipients.iter().enumerate() {
            let name = &each.recipient;
            if self.recipients[..place]
                .iter()
                .any(|before| before.recipient.is_named(name.as_str()))
            {
                return Err(format!("{name} is listed twice in `recipients`"));
            }
            if each.acknowledged_at.is_some() && each.read_at.is_none() {
                return Err(format!("{name} has `acknowledgedAt` without `readAt`"));
            }
            if each.handoff_id.is_some() && each.delivered_at.is_none() {
                return Err(format!("{name} has `handoffId` without `deliveredAt`"));
            }
        }
        Ok(())
    }
}

pub fn check_subject(subject: &Text) -> Result<(), String> {
    if subject.is_blank() {
        return Err("subject: must not be empty".to_owned());
    }
    one_line("subject", subject)
}

pub fn check_handoff_type(handoff_type: &Text) -> Result<(), String> {
    if handoff_type.is_blank() {
        return Err("handoffType: must not be empty; omit it instead".to_owned());
    }
    one_line("handoffType", handoff_type)
}

fn one_line(field: &str, text: &Text) -> Result<(), String> {
    if text.as_str().contains(['\n', '\r', '\u{2028}', '\u{2029}']) {
        return Err(format!("{field}: must be one line"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> Mail {
        let qa = Correspondent::parse("qa").unwrap();
        let recipient = |recipient: Correspondent, cc| Recipient {
            recipient,
            cc,
            delivered_at: None,
            read_at: None,
            acknowledged_at: None,
            handoff_id: None,
        };
        Mail {
            id: MailId::parse("m").unwrap(),
            version: MailVersion::V1,
            mail_type: MailType::Note,
            from: Correspondent::router(),
            from_verified: true,
            to: vec![Address::One(qa.clone())],
            cc: Vec::new(),
            thread_id: ThreadId::parse("m").unwrap(),
            subject: "Look".parse().unwrap(),
            body: Text::default(),
            task_id: None,
            handoff_id: None,
            handoff_type: None,
            context: Map::new(),
            previous_attempts: 0,
            urgency: Urgency::Normal,
            ack_required: true,
            ack_due_at: Some(Timestamp::from_millis(10)),
            sent_at: Timestamp::from_millis(1),
            recipients: vec![
                recipient(qa, false),
                recipient(Correspondent::operator(), true),
            ],
        }
    }

    #[test]
    fn only_recipients_in_to_owe_an_acknowledgement() {
        let mut mail = mail();
        let late = |mail: &Mail, now| {
            let now = Timestamp::from_millis(now);
            mail.overdue(now)
                .map(|each| each.recipient.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(late(&mail, 10), [""; 0]);
        assert_eq!(late(&mail, 11), ["qa"]);
        mail.recipients[0].read_at = Some(Timestamp::from_millis(5));
        assert_eq!(late(&mail, 11), ["qa"]);
        mail.recipients[0].acknowledged_at = Some(Timestamp::from_millis(5));
        assert_eq!(late(&mail, 11), [""; 0]);
    }

    #[test]
    fn each_contradiction_has_its_message() {
        assert_eq!(mail().check(), Ok(()));
        let problem = |change: fn(&mut Mail)| {
            let mut mail = mail();
            change(&mut mail);
            mail.check().unwrap_err()
        };
        assert!(problem(|mail| mail.subject = Text::default()).contains("empty"));
        assert!(problem(|mail| mail.subject = "a\nb".parse().unwrap()).contains("one line"));
        assert!(problem(|mail| mail.handoff_type = Some(Text::default())).contains("empty"));
        assert!(problem(|mail| mail.to.clear()).contains("`to`"));
        assert!(problem(|mail| mail.ack_required = false).contains("`ackDueAt`"));
        assert!(problem(|mail| mail.recipients[0].cc = true).contains("at least one without `cc`"));
        assert!(
            problem(|mail| mail.recipients[1].recipient = Correspondent::parse("QA").unwrap())
                .contains("twice")
        );
        assert!(
            problem(|mail| mail.recipients[0].acknowledged_at = Some(Timestamp::default()))
                .contains("without `readAt`")
        );
    }
}
