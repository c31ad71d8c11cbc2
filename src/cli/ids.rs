//! The full ids of shortened ones. A full id costs no question to the server.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use reqwest::StatusCode;

use super::arguments::{ShortId, short_ids};
use super::ui::{Failure, is_id, one_line};
use super::wait::{deadline_after, patient};
use super::{own_task, server};
use crate::client::{Client, ClientError, IdList};
use crate::domain::{FoundId, IdPart, Noun};

/// The fewest characters of an id.
const SHORTEST: usize = 4;

/// The most candidates that an error lists.
const SHOWN: usize = 10;

/// Sets the full id of every shortened id among the arguments.
pub(super) async fn resolve(matches: &ArgMatches) -> Result<(), Failure> {
    let command = innermost(matches);
    let short: Vec<_> = short_ids(command)
        .into_iter()
        .filter(|id| !is_full(&id.typed))
        .collect();
    let (own, short): (Vec<_>, Vec<_>) = short.into_iter().partition(ShortId::is_own_task);
    for id in &own {
        id.set_full(own_task::find()?);
    }
    if short.is_empty() {
        return Ok(());
    }
    let Some(client) = client(command) else {
        return Ok(());
    };
    let client = client?;
    let client = match command.try_get_one::<u64>("timeout") {
        Ok(timeout) => {
            let timeout = timeout.copied().map(Duration::from_secs);
            patient(&client, deadline_after(timeout))
        }
        Err(_) => client,
    };
    for id in &short {
        resolve_one(&client, id).await?;
    }
    Ok(())
}

/// Returns the arguments of the subcommand that was called.
pub(super) fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches
        .subcommand()
        .map_or(matches, |(_, below)| innermost(below))
}

/// Returns a client of the server that a command names; nothing for a command that needs no server.
pub(super) fn client(command: &ArgMatches) -> Option<Result<Client, Failure>> {
    let url = command.try_get_one::<String>("url").ok()?;
    let data_dir = command.try_get_one::<PathBuf>("data_dir").ok()??;
    Some(server::client(url.map(String::as_str), data_dir))
}

/// Whether this is the spelling of an id of Chorus, which has no capitals.
fn is_full(id: &str) -> bool {
    is_id(id) && !id.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Sets the full id of one. An id that matches nothing stays as it is: the server then says that it is not found.
async fn resolve_one(client: &Client, id: &ShortId) -> Result<(), Failure> {
    if id.typed.is_empty() && !id.may_be_name {
        return Err(Failure::usage(format!(
            "The id is empty: use at least {SHORTEST} characters"
        )));
    }
    if IdPart::try_from(id.typed.clone()).is_err() {
        return Ok(());
    }
    let mut candidates = Vec::new();
    for noun in id.nouns {
        let found = list(client, *noun, &id.typed).await?;
        // An imported id may be short, and the beginning of another one.
        if let Some(exact) = found
            .iter()
            .find(|found| found.id.eq_ignore_ascii_case(&id.typed))
        {
            id.set_full(exact.id.clone());
            return Ok(());
        }
        candidates.extend(found.into_iter().map(|found| (*noun, found)));
    }
    match candidates.as_slice() {
        _ if id.typed.len() < SHORTEST && id.may_be_name => Ok(()),
        _ if id.typed.len() < SHORTEST => Err(Failure::usage(format!(
            "{} is too short for an id: use at least {SHORTEST} characters",
            id.typed
        ))),
        [] => Ok(()),
        [(_, only)] => {
            id.set_full(only.id.clone());
            Ok(())
        }
        several => Err(ambiguous(&id.typed, several)),
    }
}

/// Lists ids that begin or end with a part.
pub(super) async fn list(client: &Client, noun: Noun, part: &str) -> Result<Vec<FoundId>, Failure> {
    let list = IdList {
        noun,
        prefix: None,
        part: Some(part),
        limit: u32::try_from(SHOWN + 1).unwrap_or(u32::MAX),
    };
    match client.ids().list(&list).await {
        // A server of an older version has no such list.
        Err(ClientError::Refused {
            status: StatusCode::NOT_FOUND,
            ..
        }) => Ok(Vec::new()),
        reply => Ok(reply?.data()?),
    }
}

fn ambiguous(typed: &str, candidates: &[(Noun, FoundId)]) -> Failure {
    let more = if candidates.len() > SHOWN {
        "More than "
    } else {
        ""
    };
    let number = candidates.len().min(SHOWN);
    let mut message = format!("{more}{number} ids begin or end with {typed}: use more characters");
    for (noun, FoundId { id, title }) in candidates.iter().take(SHOWN) {
        // Writing to a string cannot fail.
        let _ = write!(message, "\n  {} {id}  {}", word(*noun), one_line(title));
    }
    Failure::usage(message)
}

pub(super) const fn word(noun: Noun) -> &'static str {
    match noun {
        Noun::Task => "task",
        Noun::Handoff => "hand-off",
        Noun::Request => "request",
        Noun::Increment => "increment",
        Noun::Alert => "alert",
        Noun::Mail => "mail",
    }
}
