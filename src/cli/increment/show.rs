//! An increment on the screen, stage by stage.

use anstyle::{AnsiColor, Style};

use crate::cli::ui::{one_line, printable};
use crate::domain::{AgentName, Increment, IncrementPart, IncrementTasks, Stage, Status, Task};

/// Lists the stages in the order of the work. The order of creation differs: a fix is created last.
pub(super) fn in_order(shown: &IncrementTasks) -> Vec<(&IncrementPart, &Task)> {
    let mut stages: Vec<_> = shown
        .tasks
        .iter()
        .filter_map(|task| Some((task.part.as_ref()?, task)))
        .collect();
    stages.sort_by_key(|(part, _)| {
        let place = match part.stage {
            Stage::Implementation => 0,
            Stage::Fix => 1,
            Stage::Test => 2,
            Stage::Verify => 3,
        };
        (part.round, place)
    });
    stages
}

/// Draws an increment: its fields, its dependencies, and a line per stage.
pub(super) fn draw(shown: &IncrementTasks, before: &[Increment]) -> String {
    let increment = &shown.increment;
    let mut lines = vec![
        format!("increment  {}", increment.id),
        format!("title      {}", one_line(increment.title.as_str())),
        format!("state      {}", state(increment)),
    ];
    let command = increment.test_command.as_ref();
    lines.extend(command.map(|command| format!("test       {}", one_line(command.as_str()))));
    lines.extend(before.iter().map(|before| {
        format!(
            "after      {} ({}): {}",
            before.id,
            before.state.as_str(),
            one_line(before.title.as_str())
        )
    }));
    lines.push(String::new());
    lines.extend(in_order(shown).into_iter().map(|(part, task)| {
        let Standing { mark, style, what } = standing(task);
        let line = format!(
            "{style}{mark}{style:#} {:<14}  round {}  {}  {}",
            part.stage.as_str(),
            part.round,
            task.id,
            one_line(&what)
        );
        line.trim_end().to_owned()
    }));
    if !increment.description.is_blank() {
        lines.push(format!(
            "\n{}",
            printable(increment.description.as_str().trim_end())
        ));
    }
    lines.join("\n")
}

/// Formats the state, the round, and the reason of a block.
fn state(increment: &Increment) -> String {
    let reason = increment.blocked_by.as_ref();
    let reason = reason.map_or_else(String::new, |reason| {
        format!(": {}", one_line(reason.as_str()))
    });
    format!(
        "{}, round {}{reason}",
        increment.state.as_str(),
        increment.round
    )
}

/// The progress of a stage.
struct Standing {
    mark: char,
    style: Style,
    what: String,
}

fn standing(task: &Task) -> Standing {
    const GOOD: Style = AnsiColor::Green.on_default();
    const BAD: Style = AnsiColor::Red.on_default();
    const AT_WORK: Style = AnsiColor::Cyan.on_default();
    let reason = task.routing.waiting_reason.as_ref();
    let reason = reason.map(ToString::to_string);
    let last = task.agent_chain().last();
    let last = last.map(|entry| entry.agent_name.as_str());
    let by = |what: String| match (last, what.is_empty()) {
        (Some(agent), false) => format!("{agent}: {what}"),
        (Some(agent), true) => agent.to_owned(),
        (None, _) => what,
    };
    let (mark, style, what) = if let Some(agent) = task.current_agent().map(AgentName::as_str) {
        ('▶', AT_WORK, format!("{agent} is working"))
    } else if task.routing.blocked {
        ('!', BAD, by(reason.unwrap_or_default()))
    } else {
        match &task.status {
            Status::Completed => ('✓', GOOD, by(String::new())),
            Status::Failed { message } => ('✗', BAD, by(message.to_string())),
            Status::Pending | Status::Active | Status::Waiting => {
                ('·', Style::new(), reason.unwrap_or_default())
            }
        }
    };
    Standing { mark, style, what }
}
