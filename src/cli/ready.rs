//! `chorus task ready`

use super::arguments::ReadyArguments;
use super::ui::{Failure, Table, Ui};
use crate::client::ReadyList;
use crate::domain::{Role, Skill};

pub(super) async fn run(ui: Ui, arguments: ReadyArguments) -> Result<(), Failure> {
    let ReadyArguments {
        for_agent,
        limit,
        after,
        server,
    } = arguments;
    let list = ReadyList {
        for_agent,
        limit: Some(limit),
        after: after.map(Into::into),
    };
    let reply = server.client()?.tasks().ready(&list).await?;
    server.show_list(ui, &reply, |answer| {
        let mut table = Table::new(
            "No task is ready to start",
            &["priority", "id", "role", "tags", "description"],
        );
        for task in &answer.data {
            let needs = &task.needs;
            let tags: Vec<_> = needs.specialist_tags.iter().map(Skill::as_str).collect();
            let tags = if tags.is_empty() {
                "-".to_owned()
            } else {
                tags.join(",")
            };
            table.row([
                &needs.priority.get().to_string(),
                task.id.as_str(),
                needs.agent_role.as_ref().map_or("-", Role::as_str),
                &tags,
                task.description.as_str(),
            ]);
        }
        table
    })
}
