//! Values of arguments that only the server knows, for completion and for help after "not found".

use clap::Arg;

use super::arguments::{nouns_of, value_name};
use super::ui::Failure;
use crate::client::{Client, IdList};
use crate::domain::Noun;

/// The most ids that are listed, newest first.
const IDS: u32 = 20;

/// The most sessions that are looked at: the server lists them oldest first.
const SESSIONS: u32 = 1000;

/// The values of an argument.
#[derive(Debug)]
pub(super) enum Values {
    Ids(&'static [Noun]),
    Agents,
    /// Agents and the operator.
    Correspondents,
    Tools,
    Kinds,
    Sessions,
}

impl Values {
    pub fn of(argument: &Arg) -> Option<Self> {
        let nouns = nouns_of(argument);
        if !nouns.is_empty() {
            return Some(Self::Ids(nouns));
        }
        match value_name(argument).as_str() {
            "AGENT" | "FROM" | "TO" => Some(Self::Agents),
            "RECIPIENT" => Some(Self::Correspondents),
            "TOOL" => Some(Self::Tools),
            "KIND" => Some(Self::Kinds),
            "SESSION" => Some(Self::Sessions),
            _ => None,
        }
    }

    /// Asks the server for values, each with a description.
    pub async fn list(
        &self,
        client: &Client,
        typed: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        Ok(match self {
            Self::Ids(nouns) => {
                let mut ids = Vec::new();
                for noun in *nouns {
                    let list = IdList {
                        noun: *noun,
                        prefix: Some(typed),
                        part: None,
                        limit: IDS,
                    };
                    let found = client.ids().list(&list).await?.data()?;
                    ids.extend(found.into_iter().map(|found| (found.id, found.title)));
                }
                ids
            }
            Self::Agents | Self::Correspondents => {
                let agents = client.agents().list().await?.data()?;
                let mut names: Vec<_> = agents
                    .iter()
                    .map(|agent| (agent.name.to_string(), agent.provider.as_str().to_owned()))
                    .collect();
                if matches!(self, Self::Correspondents) {
                    names.push(("operator".to_owned(), "the person in charge".to_owned()));
                }
                names
            }
            Self::Tools => {
                let tools = client.tools().list().await?.data()?;
                let tools = tools.into_iter();
                tools
                    .map(|tool| (tool.name.to_string(), tool.description.to_string()))
                    .collect()
            }
            Self::Kinds => {
                let rules = client.dispatch().rules().await?.data()?;
                let rules = rules.into_iter();
                rules
                    .map(|rule| (rule.kind.to_string(), rule.agent.to_string()))
                    .collect()
            }
            Self::Sessions => {
                let sessions = client.sessions().list(SESSIONS, None).await?.data()?;
                let sessions = sessions.into_iter();
                sessions
                    .map(|session| (session.id.to_string(), String::new()))
                    .collect()
            }
        })
    }
}
