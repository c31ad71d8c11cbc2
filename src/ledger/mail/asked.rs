//! Sending what somebody asked to be sent: who is meant by what they wrote.

use super::super::agents;
use super::send;
use crate::domain::{
    Address, AgentName, Correspondent, Mail, MailId, NewMail, Recipient, Refusal, Role, Text,
    ThreadId,
};
use crate::store::{Result, SendMail, Sender, StoreError, Tx, params, sql};

/// Sends what somebody asked to be sent, as they wrote it.
pub(crate) fn send_asked(tx: &mut Tx<'_>, asked: &SendMail) -> Result<Mail> {
    let from = match &asked.from {
        Sender::Known(known) => known.clone(),
        Sender::Agent(name) => Correspondent::from(&agents::meant(tx, name.as_str())?.0),
    };
    let mut content = asked.content.clone();
    if let Some(id) = &asked.in_reply_to {
        content.thread_id = Some(thread_of(tx, id)?);
    }
    let resolved = |all: &[Text]| {
        let each = all.iter().map(|each| resolve(tx, each.as_str()));
        each.collect::<Result<Vec<_>>>()
    };
    let new = NewMail {
        id: asked.id.clone(),
        from,
        from_verified: asked.from_verified,
        to: resolved(&asked.to)?,
        cc: resolved(&asked.cc)?,
        handoff_id: None,
        content,
    };
    let limit = tx.rules.most_recipients;
    let count = expand(tx, &new.to, &new.cc)?.len();
    if count > limit {
        return Err(Refusal::TooManyRecipients { count, limit }.into());
    }
    send(tx, &new)
}

/// Lists who gets a mail, each once: who stands in `to` and `cc` is in `to`.
pub(crate) fn expand(tx: &Tx<'_>, to: &[Address], cc: &[Address]) -> Result<Vec<Recipient>> {
    let mut recipients: Vec<Recipient> = Vec::new();
    for (addresses, cc) in [(to, false), (cc, true)] {
        for address in addresses {
            let all = match address {
                Address::One(one) => vec![one.clone()],
                Address::Role(role) => having(tx, role)?,
            };
            for recipient in all {
                if !recipients
                    .iter()
                    .any(|before| before.recipient.is(recipient.as_str()))
                {
                    recipients.push(Recipient {
                        recipient,
                        cc,
                        delivered_at: None,
                        read_at: None,
                        acknowledged_at: None,
                    });
                }
            }
        }
    }
    Ok(recipients)
}

/// Lists the agents that have a role, which somebody must.
fn having(tx: &Tx<'_>, role: &Role) -> Result<Vec<Correspondent>> {
    let names = with_role(tx, role)?;
    if names.is_empty() {
        return Err(Refusal::NobodyHasRole(role.clone()).into());
    }
    Ok(names.iter().map(Correspondent::from).collect())
}

fn with_role(tx: &Tx<'_>, role: &Role) -> Result<Vec<AgentName>> {
    tx.rows(
        sql!(
            "SELECT name FROM agents WHERE EXISTS (SELECT 1 FROM json_each(roles) WHERE value = $1) ORDER BY name"
        ),
        params![role.as_str()],
        |row| row.parsed(0),
    )
}

/// Finds whom a caller means: an agent, the operator, or a role that somebody has.
fn resolve(tx: &Tx<'_>, asked: &str) -> Result<Address> {
    let asked = asked.trim();
    if asked.eq_ignore_ascii_case(Correspondent::OPERATOR) {
        return Ok(Address::One(Correspondent::operator()));
    }
    if let Some(role) = asked.strip_prefix(Address::ROLE)
        && let Ok(role) = Role::parse(role.trim())
    {
        having(tx, &role)?;
        return Ok(Address::Role(role));
    }
    match agents::meant(tx, asked) {
        Ok((name, _)) => Ok(Address::One(Correspondent::from(&name))),
        Err(StoreError::Refused(unknown)) => match Role::parse(asked) {
            Ok(role) if !with_role(tx, &role)?.is_empty() => Ok(Address::Role(role)),
            _ => Err(unknown.into()),
        },
        Err(error) => Err(error),
    }
}

/// Finds the thread of a mail that is answered.
fn thread_of(tx: &Tx<'_>, id: &MailId) -> Result<ThreadId> {
    tx.row(
        sql!("SELECT thread_id FROM mail WHERE id = $1"),
        params![id.as_str()],
        |row| row.parsed(0),
    )?
    .ok_or_else(|| Refusal::MailNotFound(id.to_string()).into())
}
