//! Mail between agents, people and the router.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{
    Caller, Correspondent, Idempotency, Mail, MailContent, MailId, MailType, MailVersion, TaskId,
    Text, ThreadId, Urgency, agent_context, check_handoff_type, check_subject,
};
use crate::error::Error;
use crate::ledger::mail::{self, SendMail, Sender};
use crate::ledger::rights;

/// What a caller says of a mail to be sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "to": ["role:testing"], "subject": "Ready to test", "body": "make test", "ackRequired": true }))]
pub struct MailInput {
    /// The version of the format.
    #[serde(default)]
    #[schema(inline)]
    pub version: MailVersion,
    /// What it is about; a note if it is not given.
    #[serde(default, rename = "type")]
    #[schema(inline)]
    pub mail_type: MailType,
    /// Who sends it. A run sends as its agent, whatever is said here. The operator may send as an agent; without a token
    /// this is what somebody says, and is shown as not verified.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub from: Option<Text>,
    /// Whom it is for: agents, `operator`, or `role:NAME` for all that have the role now.
    #[schema(value_type = Vec<String>, min_items = 1, max_items = 100)]
    pub to: Vec<Text>,
    /// Who is to know of it.
    #[serde(default)]
    #[schema(value_type = Vec<String>, max_items = 100)]
    pub cc: Vec<Text>,
    /// The thread that it goes on with. Without one, it begins a thread that has its own id.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    /// The mail that it answers, whose thread it goes on with.
    #[serde(default)]
    pub in_reply_to: Option<MailId>,
    /// What it says in one line, at most 1000 bytes.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub subject: Text,
    /// What it says, at most 64 KiB.
    #[serde(default)]
    #[schema(value_type = String)]
    pub body: Text,
    /// The task that it is about; a run's own if it is not given.
    #[serde(default)]
    pub task_id: Option<TaskId>,
    /// What kind of hand-off, such as `implementation_to_testing`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub handoff_type: Option<Text>,
    /// What the recipient must know, by name; at most 64 KiB.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// How often the work was tried before.
    #[serde(default)]
    pub previous_attempts: u32,
    /// How soon it is to be looked at.
    #[serde(default)]
    #[schema(inline)]
    pub urgency: Urgency,
    /// Whether those in `to` are to acknowledge it.
    #[serde(default)]
    pub ack_required: bool,
}

/// For whom a mail is marked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkInput {
    /// Who got it; the only one who did, or the operator, if nobody is named. A run marks mail of its own agent, whatever is
    /// said here.
    #[serde(default)]
    pub recipient: Option<Correspondent>,
}

impl Engine {
    /// Sends a mail. A run's is from its agent, and about a task within its reach.
    pub async fn send_mail(
        &self,
        input: MailInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Mail> {
        self.check_mail(&input)?;
        let (from, from_verified) = sender(input.from, caller)?;
        let task_id = self.subject_task(caller, input.task_id).await?;
        let send = SendMail {
            id: MailId::new(),
            from,
            from_verified,
            to: input.to,
            cc: input.cc,
            content: MailContent {
                mail_type: input.mail_type,
                subject: input.subject,
                body: input.body,
                task_id,
                handoff_type: input.handoff_type,
                context: input.context,
                previous_attempts: input.previous_attempts,
                urgency: input.urgency,
                ack_required: input.ack_required,
                thread_id: input.thread_id,
            },
            in_reply_to: input.in_reply_to,
        };
        self.write(once, move |tx| mail::send(tx, &send)).await
    }

    fn check_mail(&self, input: &MailInput) -> Result<()> {
        let wrong = |message: &str| Err(Error::InvalidBody(message.to_owned()));
        check_subject(&input.subject).map_err(Error::InvalidBody)?;
        if let Some(handoff_type) = &input.handoff_type {
            check_handoff_type(handoff_type).map_err(Error::InvalidBody)?;
        }
        if input.to.is_empty() {
            return wrong("to: must name somebody");
        }
        let limits = self.limits();
        let addresses = input.to.len() + input.cc.len();
        if addresses > limits.mail_recipients {
            let limit = limits.mail_recipients;
            return wrong(&format!(
                "to: has {addresses} addresses with `cc`; at most {limit} are possible"
            ));
        }
        if input.in_reply_to.is_some() && input.thread_id.is_some() {
            return wrong("threadId: is that of the mail in `inReplyTo`; give one of the two");
        }
        let handoff_type = input.handoff_type.as_ref().map_or("", |it| it.as_str());
        if input.context.values().any(agent_context::is_too_deep) {
            return wrong(&format!("context: {}", agent_context::TOO_DEEP));
        }
        let context = serde_json::to_string(&input.context).map_err(Error::internal)?;
        for (what, length, limit) in [
            ("subject", input.subject.as_str().len(), limits.mail_subject),
            ("handoffType", handoff_type.len(), limits.mail_subject),
            ("body", input.body.as_str().len(), limits.mail),
            ("context", context.len(), limits.mail),
        ] {
            if length > limit {
                return Err(Error::TooLarge { what, limit });
            }
        }
        Ok(())
    }
}

/// Returns the sender of a mail, and whether a token shows it.
fn sender(asked: Option<Text>, caller: &Caller) -> Result<(Sender, bool)> {
    if let Caller::Run(run) = caller {
        return Ok((Sender::Known(Correspondent::from(&run.agent_name)), true));
    }
    let is_operator = *caller == Caller::Operator;
    let Some(asked) = asked else {
        let own = if is_operator {
            Correspondent::operator()
        } else {
            Correspondent::anonymous()
        };
        return Ok((Sender::Known(own), is_operator));
    };
    let name = asked.as_str().trim();
    rights::may_send_as(caller, name)?;
    if name.eq_ignore_ascii_case(Correspondent::OPERATOR) {
        return Ok((Sender::Known(Correspondent::operator()), true));
    }
    if name.eq_ignore_ascii_case(Correspondent::ANONYMOUS) {
        return Ok((Sender::Known(Correspondent::anonymous()), false));
    }
    Ok((Sender::Agent(asked), is_operator))
}
