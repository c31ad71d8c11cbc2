//! `chorus log`

use futures_util::StreamExt;

use super::arguments::LogArguments;
use super::handoff::never_handed_off;
use super::server;
use super::ui::{Failure, Ui};
use crate::api::LogStream;
use crate::client::{Client, ClientError};

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
        Err(error) => {
            let last = last_handoff(&client, named, error).await?;
            handoffs.log(&last, stream, arguments.follow).await?
        }
    };
    while let Some(piece) = pieces.next().await {
        ui.bytes(&piece?)?;
    }
    Ok(())
}

/// Returns the last hand-off of the task with this id. Without such a task, the error about the hand-off stays.
async fn last_handoff(client: &Client, named: &str, error: ClientError) -> Result<String, Failure> {
    let Ok(task) = client.tasks().get(named).await else {
        return Err(error.into());
    };
    let task = task.data()?;
    match task.agent_chain().last() {
        Some(last) => Ok(last.id.to_string()),
        None => Err(never_handed_off(&task.id, "it has no output")),
    }
}
