//! The part of a prompt that describes the task: its place, description, plan and files.

use std::path::PathBuf;

use super::{push, quote_within};
use crate::config::DataDir;
use crate::domain::{Door, Task};
use crate::ledger::run::ClaimedRun;
use crate::words;

const TASK_BUDGET: usize = 64 * 1024;

/// Applies to all files of a task together.
const FILES_BUDGET: usize = 16 * 1024;

/// Returns the paths of a task's files, in order.
pub(in crate::runner) fn attachment_paths(run: &ClaimedRun, data_dir: &DataDir) -> Vec<PathBuf> {
    let attachments = run.task.attachments.iter();
    attachments
        .zip(&run.folders)
        .map(|(attachment, folder)| data_dir.upload(folder).join(attachment.filename.as_str()))
        .collect()
}

pub(super) fn task(text: &mut String, run: &ClaimedRun, data_dir: &DataDir) {
    let task = &run.task;
    let has_more = task.plan.planning.is_some() || !task.attachments.is_empty();
    // The first intent of a session describes its task, and stands in the assignment.
    if run.mode == Door::Session && !has_more && task.description.as_str() == run.prompt.as_str() {
        return;
    }
    let show = format!("chorus task show {}", task.id);
    text.push_str("# The task\n\n");
    place(text, run);
    text.push_str(&quote_within(task.description.as_str(), TASK_BUDGET, &show));
    if let Some(planning) = &task.plan.planning {
        if !planning.summary.is_blank() {
            push(
                text,
                format_args!(
                    "\n## Summary\n\n{}",
                    quote_within(planning.summary.as_str(), TASK_BUDGET, &show)
                ),
            );
        }
        for (heading, items) in [
            ("Requirements", &planning.requirements),
            ("Acceptance criteria", &planning.acceptance_criteria),
            ("Plan", &planning.plan),
        ] {
            if items.is_empty() {
                continue;
            }
            let items: Vec<_> = items.iter().map(|item| format!("- {item}\n")).collect();
            push(
                text,
                format_args!(
                    "\n## {heading}\n\n{}",
                    quote_within(&items.concat(), TASK_BUDGET, &show)
                ),
            );
        }
    }
    files(text, run, data_dir, &show);
    text.push('\n');
}

/// Writes the task of the agent, and its relation to the plan.
fn place(text: &mut String, run: &ClaimedRun) {
    let Task {
        parent_id,
        plan,
        part,
        ..
    } = &run.task;
    let is_planned = plan.planning.is_some();
    match (&plan.shared, parent_id, part) {
        (Some(shared), _, Some(_)) => push(
            text,
            format_args!(
                "Your task is a stage of the work on task {}. Do only your stage. Do not change the plan.\n\n",
                shared.task_id
            ),
        ),
        (Some(shared), Some(_), None) => {
            let does = match run.mode {
                Door::Transfer => "continues",
                _ => "stands for",
            };
            let holder = &shared.task_id;
            push(
                text,
                format_args!("Your task {does} task {holder}: both have the same description, and "),
            );
            text.push_str(match (is_planned, run.mode) {
                (false, _) => "no plan yet. `chorus task plan` writes the plan of both.\n",
                (true, Door::Delegate) => {
                    "share the plan below. Do only the part that your assignment asks for. If it asks for a plan, `chorus task plan` \
                     changes the plan of both.\n"
                }
                (true, _) => "share the plan below. `chorus task plan` changes the plan of both.\n",
            });
            text.push('\n');
        }
        _ if is_planned && run.mode == Door::Request => text.push_str(
            "Your task comes from a request. The summary, the criteria and the plan describe the work during which the request was made. \
             Do only what your assignment asks.\n\n",
        ),
        _ => {}
    }
}

/// Names the files of the task.
fn files(text: &mut String, run: &ClaimedRun, data_dir: &DataDir, show: &str) {
    let attachments = &run.task.attachments;
    if attachments.is_empty() {
        return;
    }
    text.push_str("\n## Files\n\n");
    let end = text.len() + FILES_BUDGET;
    let paths = attachment_paths(run, data_dir);
    for (place, (attachment, path)) in attachments.iter().zip(paths).enumerate() {
        let size = words::counted(attachment.size, "byte");
        let state = if path.exists() {
            ""
        } else {
            ", missing on disk"
        };
        let line = format!("- {} ({size}{state})\n", path.display());
        if text.len() + line.len() > end {
            let left = words::counted(attachments.len() - place, "more file");
            push(text, format_args!("[{left}; `{show}` lists all]\n"));
            return;
        }
        text.push_str(&line);
    }
}
