//! `chorus task list`

use crate::cli::alert;
use crate::cli::arguments::ListTasksArguments;
use crate::cli::ui::{Failure, Table, Ui, time};
use crate::client::TaskList;
use crate::domain::{Role, TaskSummary};

pub(super) async fn run(ui: Ui, arguments: ListTasksArguments) -> Result<(), Failure> {
    let ListTasksArguments {
        status,
        agent_role,
        tags,
        all,
        limit,
        after,
        before,
        server,
    } = arguments;
    // The newest tasks come last, next to the prompt of the shell. A program gets the order of the API.
    let newest = before.is_some() || after.is_none() && !server.json;
    let list = TaskList {
        status: status.map(Into::into),
        agent_role,
        tags: tags.map(|tags| tags.to_string()),
        newest,
        delegated: all,
        limit: Some(limit),
        after: after.or(before).map(Into::into),
    };
    let client = server.client()?;
    let reply = client.tasks().list(&list).await?;
    let next = if newest {
        "Older tasks: --before"
    } else {
        "More rows: --after"
    };
    server.show_pages(ui, &reply, next, |answer| {
        let mut tasks: Vec<_> = answer.data.iter().collect();
        if newest {
            tasks.reverse();
        }
        table(&tasks)
    })?;
    if !server.json {
        alert::notice_active(ui, &client).await;
    }
    Ok(())
}

/// The columns of the router are last, and only there if a task needs them: scripts rely on the positions of the others.
fn table(tasks: &[&TaskSummary]) -> Table {
    let is_routed = tasks
        .iter()
        .any(|task| task.agent_role.is_some() || task.waiting_reason.is_some());
    let mut headings = vec!["id", "status", "agent", "updated", "description"];
    if is_routed {
        headings.extend(["role", "held"]);
    }
    let mut table = Table::new(
        "No tasks found; create one with `chorus task create`",
        &headings,
    );
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

/// Formats the reason why the router has stopped on a task.
fn held(task: &TaskSummary) -> Option<String> {
    let reason = task.waiting_reason.as_ref()?;
    let word = if task.blocked { "blocked" } else { "waits" };
    Some(format!("{word}: {reason}"))
}
