//! The server that a command talks to.

use std::net::IpAddr;
use std::path::Path;

use serde_json::value::RawValue;

use super::arguments::ServerArguments;
use super::ui::{Failure, Ui};
use crate::client::{Client, Reply};
use crate::config::DataDir;
use crate::domain::TraceParent;
use crate::secret::Token;

impl ServerArguments {
    /// Makes the client.
    pub fn client(&self) -> Result<Client, Failure> {
        client(&self.url, &self.data.data_dir)
    }

    /// Prints an answer as it came, if that was asked for. Returns whether it was.
    pub fn print_json<T>(&self, ui: Ui, reply: &Reply<T>) -> Result<bool, Failure> {
        if self.json {
            ui.text(&reply.text)?;
        }
        Ok(self.json)
    }
}

/// Makes the client of a server. It says which trace `TRACEPARENT` names, and shows `CHORUS_TOKEN`; or, if this machine's own server asks for one, the operator's
/// from the data directory. A server elsewhere is never shown that one.
pub(super) fn client(url: &str, data_dir: &Path) -> Result<Client, Failure> {
    let given = std::env::var("CHORUS_TOKEN")
        .ok()
        .filter(|token| !token.is_empty())
        .map(Token::given);
    let spare = given
        .is_none()
        .then(|| operator_token(url, data_dir))
        .flatten();
    Ok(Client::new(url, given)?
        .with_spare_token(spare)
        .with_trace(trace()))
}

/// Reads from the environment which work this command is a part of, if it is said and well-formed.
fn trace() -> Option<TraceParent> {
    let trace = std::env::var("TRACEPARENT").ok()?;
    TraceParent::parse(trace.trim()).ok()
}

fn operator_token(url: &str, data_dir: &Path) -> Option<Token> {
    let is_local = match reqwest::Url::parse(url).ok()?.host_str()? {
        "localhost" => true,
        host => host
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
    };
    let path = DataDir::existing(data_dir).ok()?.operator_token();
    let token = std::fs::read_to_string(path).ok().filter(|_| is_local)?;
    Some(Token::given(token.trim().to_owned()))
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

/// Reads a file that has JSON, and keeps it as it is written; `-` stands for standard input.
pub(super) fn json_file(file: &Path) -> Result<Box<RawValue>, Failure> {
    let is_stdin = file == Path::new("-");
    let text = if is_stdin {
        text_or_stdin("-".to_owned())?
    } else {
        std::fs::read_to_string(file)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?
    };
    let name = if is_stdin {
        "standard input".into()
    } else {
        file.to_string_lossy()
    };
    // Some programs put a mark of the byte order before the text.
    RawValue::from_string(text.trim_start_matches('\u{feff}').trim().to_owned())
        .map_err(|error| Failure::new(format!("{name} is not JSON: {error}")))
}
