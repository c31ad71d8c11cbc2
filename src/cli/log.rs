//! `chorus log`

use futures_util::StreamExt;

use super::arguments::LogArguments;
use super::server;
use super::ui::{Failure, Ui};
use crate::api::LogStream;
use crate::client::Client;

pub(super) async fn run(ui: Ui, arguments: LogArguments) -> Result<(), Failure> {
    let client = server::client(arguments.url.as_deref(), &arguments.data.data_dir)?;
    let stream = if arguments.stderr {
        LogStream::Stderr
    } else {
        LogStream::Stdout
    };
    let named = &arguments.handoff;
    let handoffs = client.handoffs();
    let mut pieces = match handoffs.log(named, stream, arguments.follow).await {
        Ok(pieces) => pieces,
        Err(error) => match last_handoff(&client, named).await {
            Some(last) => handoffs.log(&last, stream, arguments.follow).await?,
            None => return Err(error.into()),
        },
    };
    while let Some(piece) = pieces.next().await {
        ui.bytes(&piece?)?;
    }
    Ok(())
}

/// Returns the last hand-off of the task with this id, if there is one.
async fn last_handoff(client: &Client, named: &str) -> Option<String> {
    let task = client.tasks().get(named).await.ok()?.data().ok()?;
    task.agent_chain().last().map(|last| last.id.to_string())
}
