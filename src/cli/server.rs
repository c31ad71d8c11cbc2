//! The server that a command talks to.

use std::net::IpAddr;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::{DEFAULT_DATA_DIR, ServerArguments};
use super::ui::{Exit, Failure, Table, Ui, one_line};
use super::wait::patience;
use crate::api::Answer;
use crate::client::{Client, ClientError, DEFAULT_URL, Reply, UNIX};
use crate::config::{DataDir, DataDirError, Holder};
use crate::domain::TraceParent;
use crate::secret::Token;

/// The longest absence of the server that a command of an agent waits out.
const PATIENCE_OF_RUN: Duration = Duration::from_mins(5);

impl ServerArguments {
    pub fn client(&self) -> Result<Client, Failure> {
        client(self.url.as_deref(), &self.data.data_dir)
    }

    /// Returns the operator's client, if this machine has the operator's token and no other was given.
    pub fn operator_client(&self) -> Result<Option<Client>, Failure> {
        let data_dir = &self.data.data_dir;
        if is_in_run() || token()?.is_some() {
            return Ok(None);
        }
        let url = address(self.url.as_deref(), data_dir)?;
        let token = operator_token(&url, data_dir);
        let client = token.map(|token| Client::new(&url, Some(token)));
        Ok(client.transpose()?.map(|client| client.with_trace(trace())))
    }

    /// Reads something of which the operator sees more than others: as the operator, if that is possible.
    pub async fn read_as_operator<T>(
        &self,
        read: impl AsyncFn(&Client) -> Result<Reply<T>, ClientError>,
    ) -> Result<Reply<T>, Failure> {
        if let Some(client) = self.operator_client()?
            && let Ok(reply) = read(&client).await
        {
            return Ok(reply);
        }
        Ok(read(&self.client()?).await?)
    }

    /// Prints an answer: as it came with `--json`, otherwise as `show` prints its data.
    pub fn show<T: DeserializeOwned>(
        &self,
        ui: Ui,
        reply: &Reply<T>,
        show: impl FnOnce(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            ui.text(&reply.text)
        } else {
            show(reply.data()?)
        }
    }

    /// Prints a list: as it came with `--json`, otherwise as a table and the way to the next page.
    pub fn show_list<T: DeserializeOwned>(
        &self,
        ui: Ui,
        reply: &Reply<Vec<T>>,
        table: impl FnOnce(&Answer<Vec<T>>) -> Table,
    ) -> Result<(), Failure> {
        self.show_pages(ui, reply, "More rows: --after", table)
    }

    /// Prints a list like [`Self::show_list`], with another option for the next page.
    pub fn show_pages<T: DeserializeOwned>(
        &self,
        ui: Ui,
        reply: &Reply<Vec<T>>,
        option: &str,
        table: impl FnOnce(&Answer<Vec<T>>) -> Table,
    ) -> Result<(), Failure> {
        if self.json {
            return ui.text(&reply.text);
        }
        let answer = reply.answer()?;
        ui.table(&table(&answer))?;
        if let Some(next) = answer.meta.next {
            ui.notice(format_args!("{option} {}", one_line(&next)));
        }
        Ok(())
    }
}

/// Prints the JSON of an answer that was put together from several.
pub(super) fn print_answer(ui: Ui, answer: &Answer<Vec<Value>>) -> Result<(), Failure> {
    let text = serde_json::to_string(answer).map_err(|error| Failure::caused(&error))?;
    ui.text(&text)
}

/// Returns a client of the named server, of the data directory's, or of the usual one, with the trace of `TRACEPARENT` and the token of
/// `CHORUS_TOKEN`. Without the latter, a server on this machine that asks for a token is shown the operator's, from the data directory;
/// a server elsewhere never is.
pub(super) fn client(url: Option<&str>, data_dir: &Path) -> Result<Client, Failure> {
    let url = &address(url, data_dir)?;
    let given = token()?;
    let spare = given
        .is_none()
        .then(|| operator_token(url, data_dir))
        .flatten();
    let client = Client::new(url, given)?
        .with_spare_token(spare)
        .with_trace(trace());
    Ok(if is_in_run() {
        client.with_patience(patience(PATIENCE_OF_RUN, None))
    } else {
        client
    })
}

/// Whether an agent started this command: a person can repeat a command, but an agent's report would be lost.
pub(super) fn is_in_run() -> bool {
    std::env::var_os("CHORUS_HANDOFF_ID").is_some_and(|id| !id.is_empty())
}

/// Reads the token from the environment. A malformed one is an error: without its token, a run would act as a person.
pub(super) fn token() -> Result<Option<Token>, Failure> {
    let Some(token) = std::env::var_os("CHORUS_TOKEN").filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    let token = token.into_string().ok();
    let token = token.filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
    let token = token.ok_or_else(|| {
        Failure::usage("CHORUS_TOKEN is not a token: a token is one word of ASCII characters")
    })?;
    Ok(Some(Token::given(token)))
}

/// Reads the trace from the environment; a malformed one is ignored.
fn trace() -> Option<TraceParent> {
    let trace = std::env::var("TRACEPARENT").ok()?;
    TraceParent::parse(trace.trim()).ok()
}

/// Returns the given address, the one of the data directory's server, or the usual one. The usual one is tried only if no directory was
/// named and none is here: a server there has other data, and must not be shown the operator's token.
fn address(url: Option<&str>, data_dir: &Path) -> Result<String, Failure> {
    if let Some(url) = url {
        return Ok(url.to_owned());
    }
    match DataDir::existing(data_dir) {
        Ok(found) => server_of(&found),
        Err(DataDirError::Empty { .. }) if data_dir == Path::new(DEFAULT_DATA_DIR) => {
            Ok(DEFAULT_URL.to_owned())
        }
        Err(error) => Err(Failure {
            exit: Exit::Unreachable,
            ..Failure::caused(&error)
        }),
    }
}

/// Returns the address of the data directory's server, or of its socket if it does not run.
fn server_of(data_dir: &DataDir) -> Result<String, Failure> {
    data_dir.check_owner()?;
    let path = data_dir.socket();
    if UnixStream::connect(&path).is_err() {
        if let Ok(Holder::Server(url)) = data_dir.holder() {
            return Ok(url);
        }
        // The path may be too long for a socket.
        SocketAddr::from_pathname(&path).map_err(|_| Failure::no_server(data_dir.path()))?;
    }
    let path = path.to_str();
    let path = path.ok_or_else(|| Failure::no_server(data_dir.path()))?;
    Ok(format!("{UNIX}{path}"))
}

fn operator_token(url: &str, data_dir: &Path) -> Option<Token> {
    let path = DataDir::existing(data_dir).ok()?.operator_token();
    Token::load(&path).ok()?.filter(|_| is_local(url))
}

fn is_local(url: &str) -> bool {
    if url.starts_with(UNIX) {
        return true;
    }
    let url = reqwest::Url::parse(url).ok();
    match url.as_ref().and_then(reqwest::Url::host_str) {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}
