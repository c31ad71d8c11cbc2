//! Mail from the router to agents and to the operator.

use serde_json::{Map, Value};

use crate::domain::agent_context::Cut;
use crate::domain::{
    MailContent, MailType, Role, Task, TaskPriority, Text, ThreadId, Urgency, agent_context,
};

/// The longest subject in bytes.
const SUBJECT: usize = 200;

/// Composes the mail that accompanies a hand-off, with the context of the task. `note` describes what was cut.
pub fn handoff_mail(
    task: &Task,
    from: Option<&Role>,
    largest_context: usize,
    note: impl FnOnce(Cut) -> String,
) -> MailContent {
    let needs = &task.needs;
    let to = needs.agent_role.as_ref();
    let mut context = needs.agent_context.clone();
    for (key, value) in &needs.handoff_instructions {
        context.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut about: Map<String, Value> = Map::new();
    about.extend(to.map(|role| ("role".to_owned(), role.as_str().into())));
    if let Some(minutes) = needs.estimated_duration {
        about.insert("estimatedDuration".to_owned(), minutes.get().into());
    }
    let room = largest_context.saturating_sub(agent_context::size(&about));
    about.extend(agent_context::excerpt(&context, room, note));
    let previous = needs.agent_context.get("attempts").and_then(Value::as_u64);
    let previous = previous.unwrap_or_else(|| task.routing.attempts.into());
    MailContent {
        mail_type: mail_type(from, to),
        subject: subject(task),
        body: Text::default(),
        task_id: Some(task.id.clone()),
        handoff_type: from
            .zip(to)
            .map(|(from, to)| Text::lossy(format!("{from}_to_{to}"))),
        context: about,
        previous_attempts: u32::try_from(previous).unwrap_or(u32::MAX),
        urgency: urgency(needs.priority),
        ack_required: false,
        thread_id: Some(thread(task)),
    }
}

/// Composes the mail to the operator about a blocked task, without a body.
pub fn blocked_mail(task: &Task) -> MailContent {
    MailContent {
        mail_type: MailType::Note,
        subject: subject(task),
        task_id: Some(task.id.clone()),
        previous_attempts: task.routing.attempts,
        urgency: Urgency::High,
        thread_id: Some(thread(task)),
        ..MailContent::default()
    }
}

/// The key in the context of [`unsuited_mail`] by which the router finds it again.
const WAITING_REASON: &str = "waitingReason";

/// Composes the mail to the operator about a task that no agent suits, without a body. Its context has the reason and the needs.
pub fn unsuited_mail(task: &Task, reason: &Text) -> MailContent {
    let needs = &task.needs;
    let mut context = Map::new();
    context.insert(WAITING_REASON.to_owned(), reason.as_str().into());
    let role = needs.agent_role.as_ref().map(|role| role.as_str().into());
    context.extend(role.map(|role| ("role".to_owned(), role)));
    let skills = needs.specialist_tags.iter().map(|tag| tag.as_str().into());
    context.insert("requiredSkills".to_owned(), Value::Array(skills.collect()));
    MailContent {
        context,
        ..blocked_mail(task)
    }
}

/// Derives the type from the roles of the previous and the next agent.
fn mail_type(from: Option<&Role>, to: Option<&Role>) -> MailType {
    let word = |role: Option<&Role>| role.map(ToString::to_string).unwrap_or_default();
    match (word(from).as_str(), word(to).as_str()) {
        ("", _) => MailType::Assignment,
        (_, Role::VERIFICATION) => MailType::VerificationRequest,
        (Role::TESTING | Role::VERIFICATION, Role::FIXING) => MailType::TestFailureReport,
        (Role::FIXING, Role::TESTING) => MailType::FixComplete,
        _ => MailType::TaskHandoff,
    }
}

const fn urgency(priority: TaskPriority) -> Urgency {
    match priority.get() {
        0 => Urgency::Urgent,
        1 => Urgency::High,
        2 => Urgency::Normal,
        _ => Urgency::Low,
    }
}

/// Returns the first line of the description that is not blank.
fn subject(task: &Task) -> Text {
    let is_break = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let mut lines = task.description.as_str().split(is_break);
    let line = lines.find(|line| !line.trim().is_empty());
    Text::lossy(line.unwrap_or("A task").trim().to_owned()).beginning(SUBJECT)
}

/// Groups all mail about an increment, or about a family of tasks, in one thread.
fn thread(task: &Task) -> ThreadId {
    let name = match &task.part {
        Some(part) => part.increment_id.as_str(),
        None => task.root_id().as_str(),
    };
    ThreadId::parse(name).expect("an id is a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_determine_the_mail_type() {
        let role = |word: &str| Role::parse(word).ok();
        for (from, to, expected) in [
            ("", "implementation", MailType::Assignment),
            ("implementation", "testing", MailType::TaskHandoff),
            ("testing", "fixing", MailType::TestFailureReport),
            ("verification", "fixing", MailType::TestFailureReport),
            ("fixing", "testing", MailType::FixComplete),
            ("testing", "verification", MailType::VerificationRequest),
            ("fixing", "verification", MailType::VerificationRequest),
            ("design", "implementation", MailType::TaskHandoff),
        ] {
            let found = mail_type(role(from).as_ref(), role(to).as_ref());
            assert_eq!(found, expected, "{from} to {to}");
        }
    }
}
