//! `chorus operator`

use super::arguments::{OperatorCommand, OperatorLinkArguments};
use super::ui::{Failure, Ui};
use crate::client::{DEFAULT_URL, UNIX};
use crate::config::DataDir;
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
    format!("{url}{}#token={}", web::PATH, token.reveal())
}

fn print_link(ui: Ui, arguments: &OperatorLinkArguments) -> Result<(), Failure> {
    let path = DataDir::existing(&arguments.data.data_dir)?.operator_token();
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
    let url = arguments.url.as_deref().unwrap_or(DEFAULT_URL);
    if url.starts_with(UNIX) {
        return Err(Failure::usage(
            "a browser cannot open a Unix socket; name the server with --url http://…",
        ));
    }
    ui.line(link(url, &token))
}
