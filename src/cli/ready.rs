//! `chorus task ready`

use super::arguments::ReadyArguments;
use super::ui::{Failure, Table, Ui};
use crate::api::Answer;
use crate::domain::{Role, Skill, Task};

/// Lists the tasks that are ready, the most urgent first.
pub(super) async fn run(ui: Ui, arguments: ReadyArguments) -> Result<(), Failure> {
    let ReadyArguments {
        for_agent,
        limit,
        after,
        server,
    } = arguments;
    let mut query = vec![("limit", limit.to_string())];
    query.extend(for_agent.map(|agent| ("forAgent", agent.to_string())));
    query.extend(after.map(|after| ("after", after)));
    let reply = server.client()?.get("/api/ready", &query).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let Answer { data, meta } = reply.answer::<Vec<Task>>()?;
    let mut table = Table::new(&["priority", "id", "role", "tags", "description"]);
    for task in &data {
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
    ui.table(&table)?;
    if let Some(next) = meta.next {
        ui.notice(format_args!("There are more: --after {next}"));
    }
    Ok(())
}
