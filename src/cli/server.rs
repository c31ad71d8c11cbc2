//! The server that a command talks to.

use super::arguments::ServerArguments;
use super::ui::{Failure, Ui};
use crate::client::{Client, Reply};
use crate::config::DataDir;
use crate::secret::Token;

impl ServerArguments {
    /// Makes the client. The token is `CHORUS_TOKEN`, or the operator's if the data directory is at hand.
    pub fn client(&self) -> Result<Client, Failure> {
        Ok(Client::new(&self.url, token(&self.data.data_dir))?)
    }

    /// Prints an answer as it came, if that was asked for. Returns whether it was.
    pub fn print_json(&self, ui: Ui, reply: &Reply) -> Result<bool, Failure> {
        if self.json {
            ui.line(&reply.text)?;
        }
        Ok(self.json)
    }
}

/// Finds the token to send.
pub(super) fn token(data_dir: &std::path::Path) -> Option<Token> {
    let given = std::env::var("CHORUS_TOKEN")
        .ok()
        .filter(|token| !token.is_empty());
    let file = || {
        let path = DataDir::existing(data_dir).ok()?.operator_token();
        std::fs::read_to_string(path)
            .ok()
            .map(|token| token.trim().to_owned())
    };
    given.or_else(file).map(Token::given)
}

/// Makes an id fit for a path.
pub(super) fn segment(id: &str) -> String {
    percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Reads a text argument; `-` stands for standard input.
pub(super) fn text_or_stdin(argument: String) -> Result<String, Failure> {
    if argument == "-" {
        std::io::read_to_string(std::io::stdin())
            .map_err(|error| Failure::new(format!("cannot read standard input: {error}")))
    } else {
        Ok(argument)
    }
}
