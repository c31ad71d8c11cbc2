//! `chorus operator`

use super::arguments::{OperatorCommand, OperatorLinkArguments};
use super::ui::{Exit, Failure, Ui};
use crate::client::UNIX;
use crate::config::{DataDir, Holder};
use crate::secret::Token;
use crate::web;

pub(super) fn run(ui: Ui, command: OperatorCommand) -> Result<(), Failure> {
    match command {
        OperatorCommand::Link(arguments) => print_link(ui, &arguments),
    }
}

/// Returns the address of the page with the operator's token, which a browser does not send.
pub(super) fn link(url: &str, token: &Token) -> String {
    let url = url.trim_end_matches('/');
    format!("{url}{}#token={}", web::PAGE, token.reveal())
}

fn print_link(ui: Ui, arguments: &OperatorLinkArguments) -> Result<(), Failure> {
    let data_dir = DataDir::existing(&arguments.data.data_dir)?;
    let path = data_dir.operator_token();
    let token = Token::load(&path).map_err(|error| {
        Failure::new(format!(
            "cannot use the operator's token in {}: {error}",
            path.display()
        ))
    })?;
    let token = token.ok_or_else(|| {
        Failure::new(format!(
            "no operator's token in {}; start `chorus serve` to create one",
            path.display()
        ))
    })?;
    let url = server_url(&data_dir, arguments.url.as_deref())?;
    ui.line(link(&url, &token))
}

/// Returns the given address of the server, or the one where it listens. Without a running server, another program could have its port,
/// and would be shown the token.
fn server_url(data_dir: &DataDir, given: Option<&str>) -> Result<String, Failure> {
    let path = data_dir.path().display();
    let holder = data_dir
        .holder()
        .map_err(|error| Failure::new(format!("cannot look for a server in {path}: {error}")))?;
    // A browser cannot open a Unix socket.
    let given = given.filter(|url| !url.starts_with(UNIX));
    match (given, holder) {
        (_, Holder::Nobody) => Err(Failure::no_server(data_dir.path())),
        (Some(url), _) => Ok(url.to_owned()),
        (None, Holder::Server(url)) => Ok(url),
        (None, Holder::Other) => Err(Failure {
            exit: Exit::Unreachable,
            ..Failure::new(format!(
                "the server on the data in {path} does not listen yet"
            ))
        }
        .with_hint("try again when it has started")),
    }
}
