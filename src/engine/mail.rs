//! Sends mail between agents, people and the router.

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

/// A new mail.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "to": ["role:testing"], "subject": "Ready to test", "body": "make test", "ackRequired": true }))]
pub struct MailInput {
    /// The version of the format.
    #[serde(default)]
    #[schema(inline)]
    pub version: MailVersion,
    /// The type of the mail. Defaults to `note`.
    #[serde(default, rename = "type")]
    #[schema(inline)]
    pub mail_type: MailType,
    /// The sender. Ignored for a run, which sends as its agent. The operator may send as any agent. Without a token, the
    /// sender is shown as not verified.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub from: Option<Text>,
    /// The recipients: agents, `operator`, or `role:NAME` for every agent that has the role now.
    #[schema(value_type = Vec<String>, min_items = 1, max_items = 100)]
    pub to: Vec<Text>,
    /// The recipients of a copy.
    #[serde(default)]
    #[schema(value_type = Vec<String>, max_items = 100)]
    pub cc: Vec<Text>,
    /// The thread to continue. Without one, the mail starts a new thread with the mail's own id.
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    /// The mail to reply to. The reply joins its thread.
    #[serde(default)]
    pub in_reply_to: Option<MailId>,
    /// One line of at most 1000 bytes.
    #[schema(value_type = String, min_length = 1, max_length = 1000, pattern = "^[^\\x00\\n\\r\\u2028\\u2029]*[^\\s\\x00][^\\x00\\n\\r\\u2028\\u2029]*$")]
    pub subject: Text,
    /// The text, at most 64 KiB.
    #[serde(default)]
    #[schema(value_type = String, max_length = 65536)]
    pub body: Text,
    /// The task that the mail is about. Defaults to the calling run's own task.
    #[serde(default)]
    pub task_id: Option<TaskId>,
    /// The kind of hand-off, such as `implementation_to_testing`.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, pattern = "^[^\\x00\\n\\r\\u2028\\u2029]*[^\\s\\x00][^\\x00\\n\\r\\u2028\\u2029]*$")]
    pub handoff_type: Option<Text>,
    /// Facts for the recipient, by name; at most 64 KiB.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// The number of earlier attempts at the work.
    #[serde(default)]
    pub previous_attempts: u32,
    /// How soon the recipients should read the mail.
    #[serde(default)]
    #[schema(inline)]
    pub urgency: Urgency,
    /// Whether the recipients in `to` must acknowledge the mail.
    #[serde(default)]
    pub ack_required: bool,
}

/// The recipient whose copy is marked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkInput {
    /// Defaults to the only recipient, or to the operator. Ignored for a run, which marks its own agent's mail.
    #[serde(default)]
    pub recipient: Option<Correspondent>,
}

impl Engine {
    /// Sends a mail. A run sends as its agent, and only about its own task or a descendant.
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
            return wrong("to: must name at least one recipient");
        }
        let limits = self.limits();
        let addresses = input.to.len() + input.cc.len();
        if addresses > limits.mail_recipients {
            let limit = limits.mail_recipients;
            return wrong(&format!(
                "to: `to` and `cc` have {addresses} addresses together; the limit is {limit}"
            ));
        }
        if input.in_reply_to.is_some() && input.thread_id.is_some() {
            return wrong(
                "threadId: a reply joins the thread of `inReplyTo`; give only one of the two",
            );
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

/// Returns the sender of a mail, and whether a token proves it.
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
