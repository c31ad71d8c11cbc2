//! `chorus task list`

use crate::api::Answer;
use crate::cli::alert;
use crate::cli::arguments::ListTasksArguments;
use crate::cli::ui::{Failure, Table, Ui, time};
use crate::domain::{Role, StatusName, TaskSummary};

pub(super) async fn run(ui: Ui, arguments: ListTasksArguments) -> Result<(), Failure> {
    let ListTasksArguments {
        status,
        agent_role,
        tags,
        limit,
        after,
        server,
    } = arguments;
    let mut query = vec![("view", "summary".to_owned()), ("limit", limit.to_string())];
    query.extend(status.map(|status| ("status", StatusName::from(status).as_str().to_owned())));
    query.extend(agent_role.map(|role| ("agentRole", role.to_string())));
    query.extend(tags.map(|tags| ("tags", tags.to_string())));
    query.extend(after.map(|after| ("after", after)));
    let client = server.client()?;
    let reply = client.get("/api/tasks", &query).await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    let Answer { data, meta } = reply.answer::<Vec<TaskSummary>>()?;
    ui.table(&table(&data))?;
    if let Some(next) = meta.next {
        ui.notice(format_args!("There are more: --after {next}"));
    }
    alert::notice_active(ui, &client).await;
    Ok(())
}

/// Puts tasks into a table. What the router works with stands behind the rest, and only where it has anything to do, so that
/// the columns before stay where they are.
fn table(tasks: &[TaskSummary]) -> Table {
    let is_routed = tasks
        .iter()
        .any(|task| task.agent_role.is_some() || task.waiting_reason.is_some());
    let mut headings = vec!["id", "status", "agent", "updated", "description"];
    if is_routed {
        headings.extend(["role", "held"]);
    }
    let mut table = Table::new(&headings);
    for task in tasks {
        let updated = time(task.updated_at);
        let agent = task.current_agent.as_ref();
        let [id, status, agent, updated, description] = [
            task.id.as_str(),
            task.status.name().as_str(),
            agent.map_or("-", |agent| agent.as_str()),
            &updated,
            task.description.as_str(),
        ];
        if is_routed {
            let role = task.agent_role.as_ref().map_or("-", Role::as_str);
            let held = held(task).unwrap_or_else(|| "-".to_owned());
            table.row([id, status, agent, updated, description, role, &held]);
        } else {
            table.row([id, status, agent, updated, description]);
        }
    }
    table
}

/// Says why the router does not go on with a task.
fn held(task: &TaskSummary) -> Option<String> {
    let reason = task.waiting_reason.as_ref()?;
    let word = if task.blocked { "blocked" } else { "waits" };
    Some(format!("{word}: {reason}"))
}
