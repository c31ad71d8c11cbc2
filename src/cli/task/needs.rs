//! `chorus task create` and `chorus task edit`: what a task is, and what it needs.

use reqwest::Method;
use serde_json::json;

use super::done;
use crate::cli::arguments::{CreateTaskArguments, NeedsArguments, OrNothing, ServerArguments};
use crate::cli::input::{absolute, json_object, user};
use crate::cli::server::{segment, text_or_stdin};
use crate::cli::ui::{Failure, Ui};
use crate::domain::{NeedsChange, Task};

/// Makes a task, and prints its id.
pub(super) async fn create(ui: Ui, arguments: CreateTaskArguments) -> Result<(), Failure> {
    let CreateTaskArguments {
        description,
        workspace,
        needs,
        server,
    } = arguments;
    let mut body = json!(change(needs)?);
    body["description"] = text_or_stdin(description)?.into();
    body["source"] = json!({ "sourceType": "cli", "userId": user() });
    if let Some(workspace) = workspace {
        body["agentWorkspace"] = absolute(&workspace)?.into();
    }
    let reply = server
        .client()?
        .send_json(Method::POST, "/api/tasks", &body)
        .await?;
    if server.print_json(ui, &reply)? {
        return Ok(());
    }
    ui.line(&reply.data::<Task>()?.id)
}

/// Sets what a task needs.
pub(super) async fn update(
    ui: Ui,
    task: &str,
    needs: NeedsArguments,
    merge: bool,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let change = change(needs)?;
    if change.is_empty() {
        return Err(
            Failure::usage("say what is to be set, such as --agent-role")
                .with_hint("`chorus task edit --help` lists what can be"),
        );
    }
    let merge = if merge { "?merge=true" } else { "" };
    let path = format!("/api/tasks/{}{merge}", segment(task));
    let reply = server
        .client()?
        .send_json(Method::PATCH, &path, &change)
        .await?;
    done(ui, server, &reply)
}

/// Reads what is to be set.
fn change(needs: NeedsArguments) -> Result<NeedsChange, Failure> {
    let object = |option: &str, argument: Option<String>| {
        argument
            .map(|argument| json_object(option, &argument))
            .transpose()
    };
    let waits_for = needs.depends_on;
    Ok(NeedsChange {
        agent_role: needs.agent_role.map(|OrNothing(role)| role),
        specialist_tags: needs.tags.map(|tags| tags.0),
        estimated_duration: needs.estimated_duration.map(|OrNothing(minutes)| minutes),
        priority: needs.priority,
        depends_on: (!waits_for.is_empty()).then(|| {
            waits_for
                .into_iter()
                .filter_map(|OrNothing(one)| one)
                .collect()
        }),
        agent_context: object("--agent-context", needs.agent_context)?,
        handoff_instructions: object("--handoff-instructions", needs.handoff_instructions)?,
    })
}
