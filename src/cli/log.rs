//! `chorus log`

use futures_util::StreamExt;
use reqwest::Method;

use super::arguments::LogArguments;
use super::server::{self, segment};
use super::ui::{Failure, Ui};
use crate::client::Client;
use crate::domain::Task;

pub(super) async fn run(ui: Ui, arguments: LogArguments) -> Result<(), Failure> {
    let client = server::client(&arguments.url, &arguments.data.data_dir)?;
    let stream = if arguments.stderr { "stderr" } else { "stdout" };
    let handoff = handoff_of(&client, &arguments.handoff).await;
    let path = format!("/api/handoffs/{}/log", segment(&handoff));
    let query = [
        ("stream", stream.to_owned()),
        ("follow", arguments.follow.to_string()),
    ];
    let mut pieces = client
        .stream(client.request(Method::GET, &path).query(&query))
        .await?;
    while let Some(piece) = pieces.next().await {
        ui.bytes(&piece?)?;
    }
    Ok(())
}

/// Returns the last hand-off of a task, if it is a task that is named.
async fn handoff_of(client: &Client, named: &str) -> String {
    let path = format!("/api/tasks/{}", segment(named));
    let task = client.get(&path, &[]).await;
    let task: Option<Task> = task.ok().and_then(|reply| reply.data().ok());
    let last = task.as_ref().and_then(|task| task.agent_chain().last());
    last.map_or_else(|| named.to_owned(), |last| last.id.to_string())
}
