//! `chorus task show`

use serde_json::{Map, Value};

use super::tree::status;
use crate::api::Answer;
use crate::cli::arguments::ServerArguments;
use crate::cli::ui::{Failure, Ui, duration, excerpt, one_line, outcome, printable, time, usage};
use crate::cli::wait::without_answer;
use crate::client::Client;
use crate::domain::{
    ChainEntry, Correspondent, DependencyOutcome, Needs, Run, Skill, Source, Task, Text, UsageSum,
};
use crate::words::counted;

pub(super) async fn run(
    ui: Ui,
    task: &str,
    full: bool,
    server: &ServerArguments,
) -> Result<(), Failure> {
    let client = server.client()?;
    let reply = client.tasks().get(task).await?;
    if server.json {
        return ui.text(&reply.text);
    }
    let used = client.tasks().usage(task).await?.data()?;
    let task = reply.data()?;
    let waits_for = if full {
        waits_for(&client, &task.needs).await?
    } else {
        Vec::new()
    };
    let mut lines = head(&task, &used);
    if task.status.is_ended()
        && let Some(reason) = reason_of_status(&client, &task).await?
    {
        lines.insert(2, format!("reason     {}", one_line(reason.as_str())));
    }
    lines.extend(if full {
        all_needs(&task)
    } else {
        needs_in_short(&task)
    });
    lines.push(format!("\n{}", task.description));
    lines.extend(plan(&task));
    if !waits_for.is_empty() {
        lines.push("\nWaits for".to_owned());
        lines.extend(waits_for);
    }
    if full {
        lines.extend(object("Context from handoff", &task.context.0));
        lines.extend(object(
            "Context from earlier work",
            &task.needs.agent_context,
        ));
        lines.extend(object(
            "Instructions for this task",
            &task.needs.handoff_instructions,
        ));
    }
    if !task.agent_chain().is_empty() {
        lines.push("\nAgents".to_owned());
        let handoffs = client.handoffs().of_task(task.id.as_str()).await?.data()?;
        for entry in task.agent_chain() {
            lines.push(format!("  {}", entry_line(entry, full)));
            let handoff = handoffs.iter().find(|handoff| handoff.id == entry.id);
            let run = handoff.and_then(|handoff| handoff.run.as_ref());
            lines.extend(run.into_iter().flat_map(troubles));
            let missed = handoff.map_or(&[][..], |handoff| &handoff.unanswered_handoffs);
            lines.extend(missed.iter().map(|asked| {
                let missed = without_answer(&entry.agent_name, asked);
                format!("    {}", one_line(&missed))
            }));
        }
    }
    ui.line(printable(&lines.join("\n")))
}

fn head(task: &Task, used: &UsageSum) -> Vec<String> {
    let mut lines = vec![
        format!("task       {}", task.id),
        format!("status     {}", status(&task.status)),
        format!(
            "agent      {}",
            task.current_agent().map_or("-", |agent| agent.as_str())
        ),
        format!("created    {}", time(task.created_at)),
        format!("updated    {}", time(task.updated_at)),
        format!("source     {}", source(&task.source)),
        format!("workspace  {}", task.agent_workspace),
    ];
    lines.extend(usage(used).map(|used| format!("used       {used}")));
    for attachment in &task.attachments {
        lines.push(format!(
            "file       {} ({})",
            attachment.filename,
            counted(attachment.size, "byte")
        ));
    }
    lines
}

/// Finds the reason that was stated for the present status.
async fn reason_of_status(client: &Client, task: &Task) -> Result<Option<Text>, Failure> {
    let (mut reason, mut after) = (None, None);
    loop {
        let tasks = client.tasks();
        let page = tasks.history(task.id.as_str(), after.as_deref()).await?;
        let Answer { data, meta } = page.answer()?;
        for mut event in data.events {
            if event.event_type.as_str() == "status_changed" {
                reason = event.data.remove("reason");
            }
        }
        after = meta.next;
        if after.is_none() {
            return Ok(reason);
        }
    }
}

/// Formats the door of a task, and its creator if there is a name.
fn source(source: &Source) -> String {
    match &source.user_id {
        user if user.as_str() == Correspondent::ANONYMOUS => source.source_type.to_string(),
        user => format!("{} ({user})", source.source_type),
    }
}

/// Formats the role, and the reason why no agent works on the task.
fn needs_in_short(task: &Task) -> Vec<String> {
    let role = task.needs.agent_role.as_ref();
    role.map(|role| format!("role       {role}"))
        .into_iter()
        .chain(held(task))
        .collect()
}

fn held(task: &Task) -> Option<String> {
    let reason = one_line(task.routing.waiting_reason.as_ref()?.as_str());
    let word = if task.routing.blocked {
        "blocked"
    } else {
        "waits"
    };
    Some(format!("{word:<9}  {reason}"))
}

fn all_needs(task: &Task) -> Vec<String> {
    let needs = &task.needs;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let tags: Vec<_> = needs.specialist_tags.iter().map(Skill::as_str).collect();
    let tags = (!tags.is_empty()).then(|| tags.join(", "));
    let estimate = needs.estimated_duration;
    let mut lines = vec![
        format!(
            "role       {}",
            or_dash(needs.agent_role.as_ref().map(ToString::to_string))
        ),
        format!("tags       {}", or_dash(tags)),
        format!(
            "estimate   {}",
            or_dash(estimate.map(|minutes| format!("{minutes} min")))
        ),
        format!("priority   {}", needs.priority.get()),
        format!("attempts   {}", task.routing.attempts),
    ];
    lines.extend(task.part.as_ref().map(|part| {
        format!(
            "increment  {} ({}, round {})",
            part.increment_id,
            part.stage.as_str(),
            part.round
        )
    }));
    lines.extend(held(task));
    lines
}

fn plan(task: &Task) -> Vec<String> {
    let Some(planning) = &task.plan.planning else {
        return Vec::new();
    };
    let mut lines = vec![format!("\nSummary\n  {}", planning.summary)];
    for (heading, items) in [
        ("Requirements", &planning.requirements),
        ("Acceptance criteria", &planning.acceptance_criteria),
        ("Plan", &planning.plan),
    ] {
        if !items.is_empty() {
            lines.push(format!("\n{heading}"));
            lines.extend(items.iter().map(|item| format!("  - {item}")));
        }
    }
    lines
}

/// Formats the dependencies, with their present status.
async fn waits_for(client: &Client, needs: &Needs) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for dependency in &needs.depends_on {
        let first = client
            .tasks()
            .get(dependency.task_id.as_str())
            .await?
            .data()?;
        let must = match dependency.outcome {
            DependencyOutcome::Completed => "must be completed",
            DependencyOutcome::Failed => "must be failed",
            DependencyOutcome::Any => "must have ended",
        };
        lines.push(format!(
            "  {}  {} ({must})  {}",
            first.id,
            status(&first.status),
            one_line(first.description.as_str())
        ));
    }
    Ok(lines)
}

/// Formats a JSON object under a heading; nothing if it is empty.
fn object(heading: &str, object: &Map<String, Value>) -> Option<String> {
    if object.is_empty() {
        return None;
    }
    let json = serde_json::to_string_pretty(object).expect("an object is JSON");
    let indented: Vec<_> = json.lines().map(|line| format!("  {line}")).collect();
    Some(format!("\n{heading}\n{}", indented.join("\n")))
}

/// Formats the errors of a run that makes no progress, and the tools that its agent was not allowed to use.
fn troubles(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(since) = run.failing_since.filter(|_| run.outcome.is_none()) {
        let error = run.last_error.as_ref().map_or("", |error| error.as_str());
        lines.push(format!(
            "    nothing but errors since {}: {}",
            time(since),
            one_line(error)
        ));
    }
    if !run.denied_tools.is_empty() {
        lines.push(format!(
            "    was not allowed to use {}",
            one_line(&run.denied_tools.join(", "))
        ));
    }
    lines
}

/// Formats a hand-off; in full with its id, by which `chorus log` finds it.
fn entry_line(entry: &ChainEntry, full: bool) -> String {
    let mut agent = entry.agent_name.to_string();
    if full {
        agent = format!("{}  {agent}", entry.id);
    }
    match &entry.end {
        None => format!("{agent}  working since {}", time(entry.started_at)),
        Some(end) => {
            let took = duration(end.at.as_millis() - entry.started_at.as_millis());
            let output = end.output.as_str();
            let output = if full {
                one_line(output)
            } else {
                excerpt(output)
            };
            format!("{agent}  {} after {took}  {output}", outcome(end.outcome))
        }
    }
}
