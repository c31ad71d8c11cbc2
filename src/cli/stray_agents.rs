//! Files of agents in the data directory that are not in the database. Chorus reads agents from its database only; other programs
//! keep them as `agents/NAME.json`.

use std::path::PathBuf;

use crate::config::DataDir;
use crate::domain::{Agent, AgentName, match_agent_name};

/// The most files that one command takes in.
const MOST: usize = 20;

/// Files of agents that the database does not have.
pub(super) struct StrayAgents {
    pub names: Vec<AgentName>,
    /// The command that takes the files in.
    pub command: String,
}

impl StrayAgents {
    /// Looks for files beside the agents of the database. Returns `None` if there are none.
    pub fn find(data_dir: &DataDir, agents: &[Agent]) -> Option<Self> {
        let known: Vec<_> = agents.iter().map(|agent| agent.name.clone()).collect();
        let folder = data_dir.path().join("agents");
        let mut names: Vec<_> = folder
            .read_dir()
            .ok()?
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let is_json = path
                    .extension()
                    .is_some_and(|extension| extension == "json");
                let name = path
                    .file_stem()?
                    .to_str()
                    .filter(|_| is_json && path.is_file())?;
                let name = AgentName::parse(name).ok()?;
                match_agent_name(name.as_str(), &known)
                    .is_none()
                    .then_some(name)
            })
            .collect();
        names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        if names.is_empty() {
            return None;
        }
        let files = names.iter().take(MOST).map(|name| {
            let file: PathBuf = folder.join(format!("{name}.json"));
            quoted(&file.to_string_lossy())
        });
        let files: Vec<_> = files.collect();
        let command = format!(
            "chorus agent import --data-dir {} {}",
            quoted(&data_dir.path().to_string_lossy()),
            files.join(" ")
        );
        Some(Self { names, command })
    }

    /// Names the agents that are not in the database.
    pub fn sentence(&self) -> String {
        let names: Vec<_> = self
            .names
            .iter()
            .take(MOST)
            .map(AgentName::as_str)
            .collect();
        let what = match self.names.len() {
            1 => "the file of an agent that is",
            _ => "files of agents that are",
        };
        let more = self.names.len() - names.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!(
            "agents/ has {what} not in the database: {}{more}",
            names.join(", ")
        )
    }
}

/// Quotes a word for a shell, if it needs quotes.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("/a/b-c_d.json"), "/a/b-c_d.json");
        assert_eq!(quoted("/my data/it's"), r"'/my data/it'\''s'");
    }
}
