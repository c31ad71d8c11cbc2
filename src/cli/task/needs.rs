//! `chorus task create` and `chorus task edit`

use std::path::Path;

use super::done;
use crate::api::TaskInput;
use crate::cli::arguments::{
    CreateTaskArguments, DependencyArgument, NeedsArguments, OrNothing, ServerArguments,
};
use crate::cli::input::{absolute, field, json_object, source, text_or_stdin};
use crate::cli::ui::{Failure, Ui};
use crate::domain::{Dependency, NeedsChange};

/// Creates a task, and prints its id.
pub(super) async fn create(ui: Ui, arguments: CreateTaskArguments) -> Result<(), Failure> {
    let CreateTaskArguments {
        description,
        workspace,
        needs,
        server,
    } = arguments;
    let needs = change(needs)?;
    let input = TaskInput {
        description: text_or_stdin(description)?,
        source: Some(source()),
        agent_workspace: workspace.as_deref().map(absolute).transpose()?,
        agent_role: needs.agent_role.flatten(),
        specialist_tags: needs.specialist_tags.unwrap_or_default(),
        estimated_duration: needs.estimated_duration.flatten(),
        priority: needs.priority,
        depends_on: needs.depends_on.unwrap_or_default(),
        agent_context: needs.agent_context.unwrap_or_default(),
        handoff_instructions: needs.handoff_instructions.unwrap_or_default(),
    };
    let reply = server.client()?.tasks().create(&input).await?;
    server.show(ui, &reply, |task| ui.line(&task.id))
}

pub(super) async fn update(
    ui: Ui,
    task: &str,
    needs: NeedsArguments,
    workspace: Option<&Path>,
    merge: bool,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let change = NeedsChange {
        agent_workspace: workspace.map(absolute).transpose()?,
        ..change(needs)?
    };
    if change.is_empty() {
        return Err(
            Failure::usage("no field is given: set one, such as --agent-role ROLE")
                .with_hint("`chorus task edit --help` lists the fields"),
        );
    }
    let reply = server.client()?.tasks().edit(task, &change, merge).await?;
    done(ui, server, &reply)
}

/// Reads the options that were given.
fn change(needs: NeedsArguments) -> Result<NeedsChange, Failure> {
    let object = |option: &str, argument: Option<String>| {
        argument
            .map(|argument| json_object(option, &argument))
            .transpose()
    };
    let is_given = !needs.depends_on.is_empty();
    let tasks = needs
        .depends_on
        .into_iter()
        .filter_map(|OrNothing(one)| one);
    let depends_on = tasks
        .map(|DependencyArgument { task, outcome }| {
            let task_id = field("dependsOn", task)?;
            Ok(Dependency { task_id, outcome })
        })
        .collect::<Result<_, Failure>>()?;
    Ok(NeedsChange {
        agent_role: needs.agent_role.map(|OrNothing(role)| role),
        specialist_tags: needs.tags.map(|tags| tags.0),
        estimated_duration: needs.estimated_duration.map(|OrNothing(minutes)| minutes),
        priority: needs.priority,
        depends_on: is_given.then_some(depends_on),
        agent_context: object("--agent-context", needs.agent_context)?,
        handoff_instructions: object("--handoff-instructions", needs.handoff_instructions)?,
        agent_workspace: None,
    })
}
