//! Sentences about routing.

use super::context::show_task;
use super::number::counted;
use crate::domain::{
    Assessment, Candidate, Choice, Criterion, DependencyOutcome, Lack, MailContent, Rank, Remedy,
    Role, RouteChoice, Skill, Task, Text, Verdict, WaitReason,
    blocked_mail as compose_blocked_mail, unsuited_mail as compose_unsuited_mail,
};

pub fn route_choice(choice: Choice) -> RouteChoice {
    RouteChoice {
        task_id: choice.task_id,
        agent: choice.agent,
        fallback: choice.is_fallback,
        ready: choice.is_ready,
        reason: choice.waits.as_ref().map(wait_reason),
        candidates: choice.candidates.into_iter().map(candidate).collect(),
    }
}

/// Explains why the router does not hand off a task.
pub fn wait_reason(reason: &WaitReason) -> Text {
    Text::lossy(match reason {
        WaitReason::WorkedOn(agent) => format!("Agent {agent} is working on the task"),
        WaitReason::Blocked(reason) => format!("The task is blocked: {reason}"),
        WaitReason::NotPending(status) => format!(
            "The task is {}; only pending tasks are routed",
            status.as_str()
        ),
        WaitReason::Dependencies(unmet) => {
            let unmet: Vec<_> = unmet
                .iter()
                .map(|each| {
                    let wanted = match each.dependency.outcome {
                        DependencyOutcome::Any => "ended",
                        outcome => outcome.as_str(),
                    };
                    let (id, status) = (&each.dependency.task_id, each.status.as_str());
                    format!("{id} ({status}, must be {wanted})")
                })
                .collect();
            format!("The task waits for {}", unmet.join(", "))
        }
        WaitReason::NoRole => {
            "The task has no role. Set one with `chorus task edit ID --agent-role ROLE`, or hand it off with `chorus handoff`".to_owned()
        }
        WaitReason::NobodySuits { role, tags } => nobody_suits(role, tags).into_string(),
    })
}

/// The reason shown when no agent qualifies.
pub fn nobody_suits(role: &Role, tags: &[Skill]) -> Text {
    let tags = if tags.is_empty() {
        String::new()
    } else {
        format!(" and one of the skills {}", list(tags))
    };
    Text::lossy(format!("No available agent has the role {role}{tags}"))
}

/// Composes the mail to the operator about a blocked task: the reason, and the commands to continue.
pub fn blocked_mail(task: &Task, reason: &Text) -> MailContent {
    let content = compose_blocked_mail(task);
    let unblock = match &task.part {
        Some(part) => format!("chorus increment retry {}", part.increment_id),
        None => format!("chorus task status {} pending", task.id),
    };
    MailContent {
        subject: Text::lossy(format!("Blocked: {}", content.subject)),
        body: Text::lossy(format!(
            "{reason}\n\nSee the task: {}\nContinue it: {unblock}",
            show_task(&task.id)
        )),
        ..content
    }
}

/// Composes the mail to the operator about a task that no agent suits: the reason, and the commands that help.
pub fn unsuited_mail(task: &Task, reason: &Text, remedy: Option<&Remedy>) -> MailContent {
    let content = compose_unsuited_mail(task, reason);
    let (role, tags) = (&task.needs.agent_role, &task.needs.specialist_tags);
    let help = remedy.map_or_else(
        || {
            let role = role.as_ref().map_or("ROLE", Role::as_str);
            let command = format!("chorus agent create NAME --program PATH --roles {role}");
            format!("Create an agent: {}", with_list(command, "skills", tags))
        },
        |remedy| format!("Let {} do it: {}", remedy.agent, edit_agent(remedy)),
    );
    MailContent {
        subject: Text::lossy(format!("No agent suits: {}", content.subject)),
        body: Text::lossy(format!(
            "{reason}. The task waits.\n\n{help}\nOr hand it off yourself: chorus handoff {id} AGENT \"Do the task.\"\nSee the task: {}\n\
             The router continues by itself as soon as an agent suits.",
            show_task(&task.id),
            id = task.id,
        )),
        ..content
    }
}

/// Writes the command that carries out a remedy.
fn edit_agent(remedy: &Remedy) -> String {
    let mut command = format!("chorus agent edit {}", remedy.agent);
    if let Some(roles) = &remedy.roles {
        let roles: Vec<_> = roles.iter().map(Role::as_str).collect();
        command = format!("{command} --roles {}", roles.join(","));
    }
    if let Some(skills) = &remedy.skills {
        command = with_list(command, "skills", skills);
    }
    if remedy.becomes_available {
        command.push_str(" --available true");
    }
    command
}

fn with_list(command: String, option: &str, skills: &[Skill]) -> String {
    if skills.is_empty() {
        return command;
    }
    let skills: Vec<_> = skills.iter().map(Skill::as_str).collect();
    format!("{command} --{option} {}", skills.join(","))
}

fn candidate(assessment: Assessment) -> Candidate {
    Candidate {
        score: assessment.score(),
        suits: assessment.suits(),
        taken: assessment.is_chosen(),
        why: Text::lossy(verdict(&assessment.verdict)),
        agent: assessment.agent,
    }
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Best { rank, wanted } => suits_best(*rank, *wanted),
        Verdict::PassedOver {
            best, criterion, ..
        } => match criterion {
            Criterion::MissingProgram => {
                "Program is not installed on this machine; see `chorus doctor`".to_owned()
            }
            Criterion::OwnWork => "Would judge its own work; another agent would not".to_owned(),
            Criterion::EarlierFailure => "Failed on this task before".to_owned(),
            Criterion::Skills { own, best: most } => {
                format!("Has {own} of the skills; {best} has {most}")
            }
            Criterion::Load { own, best: least } => {
                format!(
                    "Works on {}; {best} works on {least}",
                    counted(*own, "task")
                )
            }
            Criterion::Knowledge => format!("Has not worked on related tasks; {best} has"),
            Criterion::Name => format!("Suits as well as {best}, whose name comes first"),
        },
        Verdict::Unsuited(Lack::Role(role)) => format!("Does not have the role {role}"),
        Verdict::Unsuited(Lack::Skills(tags)) => {
            format!("Has none of the skills {}", list(tags))
        }
        Verdict::Unsuited(Lack::Availability) => "Not available".to_owned(),
        Verdict::Fallback => "Fallback agent, because no agent suits".to_owned(),
    }
}

fn suits_best(rank: Rank, wanted: usize) -> String {
    let (matches, busy) = (rank.matches.0, counted(rank.busy, "other task"));
    let mut why = if wanted == 0 {
        format!("Has the role; works on {busy}")
    } else {
        format!(
            "Has the role and {matches} of {}; works on {busy}",
            counted(wanted, "skill")
        )
    };
    if !rank.is_new_here {
        why.push_str("; has worked on related tasks");
    }
    if rank.has_failed {
        why.push_str("; failed before, but no other agent suits");
    }
    if rank.is_missing {
        why.push_str("; its program is not installed on this machine, but no other agent suits");
    }
    if rank.judges_own_work {
        why.push_str("; judges its own work, because no other agent suits");
    }
    why
}

fn list(skills: &[Skill]) -> String {
    let skills: Vec<_> = skills.iter().map(Skill::as_str).collect();
    skills.join(", ")
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;
    use crate::domain::AgentName;

    fn skills() -> Vec<Skill> {
        ["python", "mcp"]
            .map(|word| Skill::parse(word).unwrap())
            .into()
    }

    #[test]
    fn every_verdict_has_a_reason() {
        let ada = AgentName::parse("ada").unwrap();
        let role = Role::parse("testing").unwrap();
        let passed_over = |criterion| Verdict::PassedOver {
            matches: 1,
            best: ada.clone(),
            criterion,
        };
        for (given, reason) in [
            (
                passed_over(Criterion::MissingProgram),
                "Program is not installed on this machine; see `chorus doctor`",
            ),
            (
                passed_over(Criterion::OwnWork),
                "Would judge its own work; another agent would not",
            ),
            (
                passed_over(Criterion::EarlierFailure),
                "Failed on this task before",
            ),
            (
                passed_over(Criterion::Skills { own: 1, best: 2 }),
                "Has 1 of the skills; ada has 2",
            ),
            (
                passed_over(Criterion::Load { own: 3, best: 0 }),
                "Works on 3 tasks; ada works on 0",
            ),
            (
                passed_over(Criterion::Knowledge),
                "Has not worked on related tasks; ada has",
            ),
            (
                passed_over(Criterion::Name),
                "Suits as well as ada, whose name comes first",
            ),
            (
                Verdict::Unsuited(Lack::Role(role)),
                "Does not have the role testing",
            ),
            (
                Verdict::Unsuited(Lack::Skills(skills())),
                "Has none of the skills python, mcp",
            ),
            (Verdict::Unsuited(Lack::Availability), "Not available"),
            (Verdict::Fallback, "Fallback agent, because no agent suits"),
        ] {
            assert_eq!(verdict(&given), reason);
        }
    }

    #[test]
    fn the_best_agent_is_shown_with_its_drawbacks() {
        let rank = Rank {
            is_missing: false,
            judges_own_work: false,
            has_failed: false,
            matches: Reverse(1),
            busy: 3,
            is_new_here: true,
        };
        let plain = "Has the role; works on 3 other tasks";
        assert_eq!(suits_best(rank, 0), plain);
        let skilled = "Has the role and 1 of 2 skills; works on 3 other tasks";
        assert_eq!(suits_best(rank, 2), skilled);
        let worst = Rank {
            is_missing: true,
            judges_own_work: true,
            has_failed: true,
            is_new_here: false,
            ..rank
        };
        assert_eq!(
            suits_best(worst, 0),
            format!(
                "{plain}; has worked on related tasks; failed before, but no other agent suits; its program is not installed on this machine, but no other agent suits; judges its own work, because no other agent suits"
            )
        );
    }

    #[test]
    fn the_reason_for_no_agent_names_the_role_and_the_skills() {
        let role = Role::parse("testing").unwrap();
        assert_eq!(
            nobody_suits(&role, &skills()).as_str(),
            "No available agent has the role testing and one of the skills python, mcp"
        );
        assert_eq!(
            nobody_suits(&role, &[]).as_str(),
            "No available agent has the role testing"
        );
    }
}
