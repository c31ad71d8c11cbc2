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
    let ask = |handoff: &str| {
        let path = format!("/api/handoffs/{}/log", segment(handoff));
        let query = [
            ("stream", stream.to_owned()),
            ("follow", arguments.follow.to_string()),
        ];
        client.stream(client.request(Method::GET, &path).query(&query))
    };
    let mut pieces = match ask(&arguments.handoff).await {
        Ok(pieces) => pieces,
        Err(error) => match last_handoff(&client, &arguments.handoff).await {
            Some(last) => ask(&last).await?,
            None => return Err(error.into()),
        },
    };
    while let Some(piece) = pieces.next().await {
        ui.bytes(&piece?)?;
    }
    Ok(())
}

/// Finds the last hand-off of a task, if it is a task that is named.
async fn last_handoff(client: &Client, named: &str) -> Option<String> {
    let path = format!("/api/tasks/{}", segment(named));
    let task: Task = client.get(&path, &[]).await.ok()?.data().ok()?;
    task.agent_chain().last().map(|last| last.id.to_string())
}
