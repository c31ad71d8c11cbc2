//! `chorus log`

use futures_util::StreamExt;
use reqwest::Method;

use super::arguments::LogArguments;
use super::server::{self, segment};
use super::ui::{Failure, Ui};

pub(super) async fn run(ui: Ui, arguments: LogArguments) -> Result<(), Failure> {
    let client = server::client(&arguments.url, &arguments.data.data_dir)?;
    let stream = if arguments.stderr { "stderr" } else { "stdout" };
    let path = format!("/api/handoffs/{}/log", segment(&arguments.handoff));
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
