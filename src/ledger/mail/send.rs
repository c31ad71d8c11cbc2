//! Sending a mail with addresses as the caller wrote them.

use super::addresses::{expand, resolve};
use super::post::post;
use crate::domain::{
    Address, Correspondent, Mail, MailContent, MailId, NewMail, Refusal, Text, ThreadId,
};
use crate::ledger::agent;
use crate::store::tables::mail as table;
use crate::store::{Result, Tx, View};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// A correspondent that needs no resolving.
    Known(Correspondent),
    /// An agent's name as the caller wrote it.
    Agent(Text),
}

/// A mail with addresses as the caller wrote them.
#[derive(Debug, Clone, PartialEq)]
pub struct SendMail {
    pub id: MailId,
    pub from: Sender,
    pub from_verified: bool,
    pub to: Vec<Text>,
    pub cc: Vec<Text>,
    pub content: MailContent,
    /// The mail that this one answers, and whose thread it continues.
    pub in_reply_to: Option<MailId>,
}

pub fn send(tx: &mut Tx<'_>, asked: &SendMail) -> Result<Mail> {
    let from = match &asked.from {
        Sender::Known(known) => known.clone(),
        Sender::Agent(name) => Correspondent::from(&agent::resolve_any(tx, name.as_str())?),
    };
    let mut content = asked.content.clone();
    if let Some(id) = &asked.in_reply_to {
        content.thread_id = Some(thread_of(tx, id)?);
    }
    let new = NewMail {
        id: asked.id.clone(),
        from,
        from_verified: asked.from_verified,
        to: resolve_all(tx, &asked.to)?,
        cc: resolve_all(tx, &asked.cc)?,
        handoff_id: None,
        content,
    };
    let limit = tx.rules.most_recipients;
    let count = expand(tx, &new.to, &new.cc)?.len();
    if count > limit {
        return Err(Refusal::TooManyRecipients { count, limit }.into());
    }
    post(tx, &new)
}

fn resolve_all(view: &View<'_>, asked: &[Text]) -> Result<Vec<Address>> {
    let addresses = asked.iter().map(|each| resolve(view, each.as_str()));
    addresses.collect()
}

fn thread_of(view: &View<'_>, id: &MailId) -> Result<ThreadId> {
    table::find_thread(view, id)?.ok_or_else(|| Refusal::MailNotFound(id.to_string()).into())
}
