//! Mail: what agents, people and the router write to each other.

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
    /// The id of a thread: that of the mail that began it, or a name that somebody chose.
    ThreadId
}

impl From<&MailId> for ThreadId {
    fn from(id: &MailId) -> Self {
        Self(id.to_string())
    }
}

/// The version of the format of mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum MailVersion {
    /// The first.
    #[default]
    #[serde(rename = "1.0.0")]
    V1,
}

/// A mail, and what became of it with each of those who get it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a mail")]
pub struct Mail {
    /// Its id.
    pub id: MailId,
    /// The version of its format.
    #[schema(inline)]
    pub version: MailVersion,
    /// What it is about.
    #[serde(rename = "type")]
    #[schema(inline)]
    pub mail_type: MailType,
    /// Who sent it.
    pub from: Correspondent,
    /// Whether a token says so. If not, somebody on this machine said it.
    pub from_verified: bool,
    /// Whom it is for.
    #[schema(value_type = Vec<String>)]
    pub to: Vec<Address>,
    /// Who is to know of it.
    #[schema(value_type = Vec<String>)]
    pub cc: Vec<Address>,
    /// What it belongs to: the id of the mail that began the thread, or a name that somebody chose.
    pub thread_id: ThreadId,
    /// What it says in one line.
    #[schema(value_type = String)]
    pub subject: Text,
    /// What it says.
    #[schema(value_type = String)]
    pub body: Text,
    /// The task that it is about.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The hand-off that it came with.
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// What kind of hand-off, such as `implementation_to_testing`.
    #[schema(required, value_type = Option<String>)]
    pub handoff_type: Option<Text>,
    /// What the recipient must know, by name.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// How often the work was tried before.
    pub previous_attempts: u32,
    /// How soon it is to be looked at.
    #[schema(inline)]
    pub urgency: Urgency,
    /// Whether those in `to` are to acknowledge it.
    pub ack_required: bool,
    /// Until when; null if they need not.
    #[schema(required)]
    pub ack_due_at: Option<Timestamp>,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// Who gets it, and what became of it there.
    pub recipients: Vec<Recipient>,
}

/// Who gets a mail, and what became of it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recipient {
    /// An agent, or `operator`.
    pub recipient: Correspondent,
    /// Whether it only is to know of it.
    pub cc: bool,
    /// When it was first put into a prompt; null before, and for a person.
    #[schema(required)]
    pub delivered_at: Option<Timestamp>,
    /// When it was read: the hand-off whose prompt had it was completed, or somebody said so.
    #[schema(required)]
    pub read_at: Option<Timestamp>,
    /// When it was acknowledged.
    #[schema(required)]
    pub acknowledged_at: Option<Timestamp>,
}

/// What a mail says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MailContent {
    /// What it is about.
    pub mail_type: MailType,
    /// What it says in one line.
    pub subject: Text,
    /// What it says.
    pub body: Text,
    /// The task that it is about.
    pub task_id: Option<TaskId>,
    /// What kind of hand-off, such as `implementation_to_testing`.
    pub handoff_type: Option<Text>,
    /// What the recipient must know, by name.
    pub context: Map<String, Value>,
    /// How often the work was tried before.
    pub previous_attempts: u32,
    /// How soon it is to be looked at.
    pub urgency: Urgency,
    /// Whether those in `to` are to acknowledge it.
    pub ack_required: bool,
    /// The thread that it goes on with; none to begin one.
    pub thread_id: Option<ThreadId>,
}

/// A mail to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMail {
    /// Its id.
    pub id: MailId,
    /// Who sends it.
    pub from: Correspondent,
    /// Whether that is certain.
    pub from_verified: bool,
    /// Whom it is for.
    pub to: Vec<Address>,
    /// Who is to know of it.
    pub cc: Vec<Address>,
    /// The hand-off that it comes with.
    pub handoff_id: Option<HandoffId>,
    /// What it says.
    pub content: MailContent,
}

impl Mail {
    /// Finds what became of it with somebody. Case does not matter.
    pub fn recipient(&self, who: &Correspondent) -> Option<&Recipient> {
        self.recipients
            .iter()
            .find(|each| each.recipient.is(who.as_str()))
    }

    /// Tells whether somebody is to acknowledge it and has not.
    pub const fn is_owed_by(&self, recipient: &Recipient) -> bool {
        self.ack_required && !recipient.cc && recipient.acknowledged_at.is_none()
    }

    /// Lists who should have acknowledged it by now.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &Recipient> {
        let is_late = self.ack_due_at.is_some_and(|due| due < now);
        self.recipients
            .iter()
            .filter(move |each| is_late && self.is_owed_by(each))
    }

    /// Says what does not fit together.
    pub fn check(&self) -> Result<(), String> {
        check_subject(&self.subject)?;
        if let Some(handoff_type) = &self.handoff_type {
            check_handoff_type(handoff_type)?;
        }
        if self.to.is_empty() {
            return Err("`to` must not be empty".to_owned());
        }
        if self.ack_required != self.ack_due_at.is_some() {
            return Err("`ackDueAt` is there if and only if `ackRequired` is true".to_owned());
        }
        if self.recipients.iter().all(|each| each.cc) {
            return Err("`recipients` must have somebody whom it is for".to_owned());
        }
        for (place, each) in self.recipients.iter().enumerate() {
            let name = &each.recipient;
            if self.recipients[..place]
                .iter()
                .any(|before| before.recipient.is(name.as_str()))
            {
                return Err(format!("{name} stands twice in `recipients`"));
            }
            if each.acknowledged_at.is_some() && each.read_at.is_none() {
                return Err(format!("{name} has acknowledged it without reading it"));
            }
        }
        Ok(())
    }
}

/// Checks that a subject is one line that says something.
pub fn check_subject(subject: &Text) -> Result<(), String> {
    if subject.is_blank() {
        return Err("subject: must not be empty".to_owned());
    }
    one_line("subject", subject)
}

/// Checks that the kind of a hand-off is one line that says something.
pub fn check_handoff_type(handoff_type: &Text) -> Result<(), String> {
    if handoff_type.is_blank() {
        return Err("handoffType: must not be empty; leave it out".to_owned());
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
    fn only_those_in_to_owe_an_acknowledgement_and_only_until_they_give_it() {
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
    fn what_does_not_fit_together_is_named() {
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
        assert!(problem(|mail| mail.recipients[0].cc = true).contains("whom it is for"));
        assert!(
            problem(|mail| mail.recipients[1].recipient = Correspondent::parse("QA").unwrap())
                .contains("twice")
        );
        assert!(
            problem(|mail| mail.recipients[0].acknowledged_at = Some(Timestamp::default()))
                .contains("without reading")
        );
    }
}
