//! Words about routing.

use crate::domain::{Choice, DependencyOutcome, RouteChoice, Text, WaitReason, nobody_suits};

/// Explains a choice of the router.
pub fn route_choice(choice: Choice) -> RouteChoice {
    RouteChoice {
        task_id: choice.task_id,
        agent: choice.agent,
        fallback: choice.is_fallback,
        ready: choice.is_ready,
        reason: choice.waits.as_ref().map(wait_reason),
        candidates: choice.candidates,
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
