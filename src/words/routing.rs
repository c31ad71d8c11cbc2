//! Words about routing.

use super::context::show_task;
use crate::domain::{
    Assessment, Candidate, Choice, Criterion, DependencyOutcome, Lack, MailContent, Rank, Role,
    RouteChoice, Skill, Task, Text, Verdict, WaitReason, blocked_mail as compose_blocked_mail,
};

/// Explains a choice of the router.
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

/// Explains why the router leaves a task alone.
pub fn wait_reason(reason: &WaitReason) -> Text {
    Text::lossy(match reason {
        WaitReason::WorkedOn(agent) => format!("{agent} works on it"),
        WaitReason::Blocked(reason) => format!("It is blocked: {reason}"),
        WaitReason::NotPending(status) => format!(
            "It is {}: only what is pending is given to an agent",
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
            format!("It waits for {}", unmet.join(", "))
        }
        WaitReason::NoRole => {
            "It has no role: set one with `chorus task update ID --agent-role ROLE`, or hand it to an agent".to_owned()
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
    Text::lossy(format!(
        "No agent is available that has the role {role}{tags}"
    ))
}

/// Writes to the operator why a task is blocked, and how to let it go on.
pub fn blocked_mail(task: &Task, reason: &Text) -> MailContent {
    let content = compose_blocked_mail(task);
    let go_on = match &task.part {
        Some(part) => format!("chorus increment retry {}", part.increment_id),
        None => format!("chorus task status {} pending", task.id),
    };
    MailContent {
        subject: Text::lossy(format!("Blocked: {}", content.subject)),
        body: Text::lossy(format!(
            "{reason}\n\nLook at it: {}\nLet it go on: {go_on}",
            show_task(&task.id)
        )),
        ..content
    }
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
                "Its program is not on this machine; `chorus doctor` says which".to_owned()
            }
            Criterion::OwnWork => {
                "It made what is to be judged, and another one is there".to_owned()
            }
            Criterion::EarlierFailure => "It was given this task before, and failed".to_owned(),
            Criterion::Skills { own, best: most } => {
                format!("It has {own} of the skills, and {best} has {most}")
            }
            Criterion::Load { own, best: least } => {
                format!("It works on {own} tasks, and {best} on {least}")
            }
            Criterion::Knowledge => format!("{best} has worked here before"),
            Criterion::Name => format!("It suits as well as {best}, who comes first by name"),
        },
        Verdict::Unsuited(Lack::Role(role)) => format!("It does not have the role {role}"),
        Verdict::Unsuited(Lack::Skills(tags)) => {
            format!("It has none of the skills {}", list(tags))
        }
        Verdict::Unsuited(Lack::Availability) => "It is not available".to_owned(),
        Verdict::Fallback => "It gets what nobody suits".to_owned(),
    }
}

fn suits_best(rank: Rank, wanted: usize) -> String {
    let (matches, busy) = (rank.matches.0, rank.busy);
    let mut why = if wanted == 0 {
        format!("It has the role, and works on {busy} other tasks")
    } else {
        format!("It has the role and {matches} of {wanted} skills, and works on {busy} other tasks")
    };
    if !rank.is_new_here {
        why.push_str("; it has worked here before");
    }
    if rank.has_failed {
        why.push_str("; it has failed before, but nobody else suits");
    }
    if rank.is_missing {
        why.push_str("; its program is not on this machine, but nobody else suits");
    }
    if rank.judges_own_work {
        why.push_str("; it judges its own work, because nobody else suits");
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
    fn every_verdict_has_its_reason() {
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
                "Its program is not on this machine; `chorus doctor` says which",
            ),
            (
                passed_over(Criterion::OwnWork),
                "It made what is to be judged, and another one is there",
            ),
            (
                passed_over(Criterion::EarlierFailure),
                "It was given this task before, and failed",
            ),
            (
                passed_over(Criterion::Skills { own: 1, best: 2 }),
                "It has 1 of the skills, and ada has 2",
            ),
            (
                passed_over(Criterion::Load { own: 3, best: 0 }),
                "It works on 3 tasks, and ada on 0",
            ),
            (
                passed_over(Criterion::Knowledge),
                "ada has worked here before",
            ),
            (
                passed_over(Criterion::Name),
                "It suits as well as ada, who comes first by name",
            ),
            (
                Verdict::Unsuited(Lack::Role(role)),
                "It does not have the role testing",
            ),
            (
                Verdict::Unsuited(Lack::Skills(skills())),
                "It has none of the skills python, mcp",
            ),
            (Verdict::Unsuited(Lack::Availability), "It is not available"),
            (Verdict::Fallback, "It gets what nobody suits"),
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
        let plain = "It has the role, and works on 3 other tasks";
        assert_eq!(suits_best(rank, 0), plain);
        let skilled = "It has the role and 1 of 2 skills, and works on 3 other tasks";
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
                "{plain}; it has worked here before; it has failed before, but nobody else suits; its program is not on this machine, but nobody else suits; it judges its own work, because nobody else suits"
            )
        );
    }

    #[test]
    fn nobody_suits_names_the_role_and_the_skills() {
        let role = Role::parse("testing").unwrap();
        assert_eq!(
            nobody_suits(&role, &skills()).as_str(),
            "No agent is available that has the role testing and one of the skills python, mcp"
        );
        assert_eq!(
            nobody_suits(&role, &[]).as_str(),
            "No agent is available that has the role testing"
        );
    }
}
