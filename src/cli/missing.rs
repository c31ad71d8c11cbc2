//! Help after "not found": the noun that an id belongs to, a similar name, or the command that lists the right ones.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::arguments::{self, ShortId, short_ids};
use super::ids::{self, innermost, word};
use super::ui::{Failure, closest, one_line};
use super::values::Values;
use crate::client::Client;
use crate::domain::{IdPart, Noun};

/// Adds a hint about the first argument that the server does not know. Without an answer of the server, there is none.
pub(super) async fn explain(matches: &ArgMatches, failure: Failure) -> Failure {
    let command = innermost(matches);
    let Some(Ok(client)) = ids::client(command) else {
        return failure;
    };
    match hint(&client, matches, command).await {
        Some(Hint::Answer(answer)) => failure.with_hint(answer),
        Some(Hint::List(list)) if failure.hints.is_empty() => failure.with_hint(list),
        _ => failure,
    }
}

enum Hint {
    Answer(String),
    /// The command that lists the right values. An error that lists them already does not need it.
    List(&'static str),
}

async fn hint(client: &Client, matches: &ArgMatches, command: &ArgMatches) -> Option<Hint> {
    let named = short_ids(command).into_iter();
    for id in named.filter(|id| !id.is_own_task()) {
        if let Some(hint) = about_id(client, &id).await {
            return Some(hint);
        }
    }
    let grammar = arguments::of(matches);
    for argument in grammar.get_arguments() {
        let name = argument.get_id().as_str();
        let is_typed = command.value_source(name) == Some(ValueSource::CommandLine);
        let values = Values::of(argument).filter(|_| is_typed);
        let typed = command.try_get_raw(name).ok().flatten();
        let (Some(values), Some(typed)) = (values, typed) else {
            continue;
        };
        for typed in typed {
            if let Some(hint) = about_name(client, &values, &typed.to_string_lossy()).await {
                return Some(hint);
            }
        }
    }
    None
}

/// Explains an id that its nouns do not have.
async fn about_id(client: &Client, id: &ShortId) -> Option<Hint> {
    let wanted = id.nouns.first()?;
    if IdPart::try_from(id.typed.clone()).is_err() || id.typed.is_empty() {
        return Some(list_command(*wanted));
    }
    let is_among = async |noun| {
        let found = ids::list(client, noun, &id.typed).await;
        found.map(|found| !found.is_empty()).ok()
    };
    for noun in id.nouns {
        if is_among(*noun).await? {
            return None;
        }
    }
    let typed = one_line(&id.typed);
    for noun in Noun::ALL {
        if !id.nouns.contains(&noun) && is_among(noun).await? {
            return Some(Hint::Answer(format!(
                "{typed} is {}, not {}; see {}",
                with_article(noun),
                with_article(*wanted),
                show_command(noun, &typed)
            )));
        }
    }
    let agents = client.agents().list().await.ok()?.data().ok()?;
    if agents.iter().any(|agent| agent.name.as_str() == id.typed) {
        return Some(Hint::Answer(format!(
            "{typed} is an agent, not {}; `chorus handoff TASK AGENT PROMPT` names the task first",
            with_article(*wanted)
        )));
    }
    Some(list_command(*wanted))
}

/// Explains a name that is not on its list.
async fn about_name(client: &Client, values: &Values, typed: &str) -> Option<Hint> {
    let list = match values {
        Values::Agents | Values::Correspondents => "`chorus agent list` lists the agents",
        Values::Tools => "`chorus tool list` lists the tools",
        Values::Sessions => "`chorus session list` lists the sessions",
        Values::Ids(_) | Values::Kinds => return None,
    };
    let known = values.list(client, typed).await.ok()?;
    let known: Vec<_> = known.iter().map(|(name, _)| name.as_str()).collect();
    if known.contains(&typed) {
        return None;
    }
    Some(match closest(typed, &known) {
        Some(name) => Hint::Answer(format!("did you mean {}?", one_line(name))),
        None => Hint::List(list),
    })
}

fn with_article(noun: Noun) -> String {
    let word = word(noun);
    match noun {
        Noun::Increment | Noun::Alert => format!("an {word}"),
        Noun::Mail => word.to_owned(),
        Noun::Task | Noun::Handoff | Noun::Request => format!("a {word}"),
    }
}

fn show_command(noun: Noun, id: &str) -> String {
    match noun {
        Noun::Task => format!("`chorus task show {id}`"),
        Noun::Handoff => format!("`chorus log {id}`"),
        Noun::Request => format!("`chorus request show {id}`"),
        Noun::Increment => format!("`chorus increment show {id}`"),
        Noun::Alert => "`chorus alert list`".to_owned(),
        Noun::Mail => format!("`chorus mail show {id}`"),
    }
}

const fn list_command(noun: Noun) -> Hint {
    Hint::List(match noun {
        Noun::Task => "`chorus task list` lists the tasks",
        Noun::Handoff => "`chorus task show TASK` lists the hand-offs of a task",
        Noun::Request => "`chorus request list` lists the requests",
        Noun::Increment => "`chorus increment list` lists the increments",
        Noun::Alert => "`chorus alert list` lists the alerts",
        Noun::Mail => "`chorus mail inbox NAME` lists the mail of an agent or of the operator",
    })
}
