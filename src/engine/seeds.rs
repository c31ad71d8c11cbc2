//! The embedded agents, kind rules and templates of a new installation.

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;

use crate::domain::{Agent, KindRule};

pub(super) static SEEDS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/seeds");

pub fn default_agents() -> Vec<Agent> {
    seed("agents.json")
}

/// Returns the specialists: agents with one role each, for tasks that name a role.
pub fn specialists() -> Vec<Agent> {
    seed("roles.json")
}

pub fn default_kind_rules() -> Vec<KindRule> {
    seed("routes.json")
}

fn seed<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let file = SEEDS.get_file(name).expect("the seeds are embedded");
    serde_json::from_slice(file.contents()).expect("a seed is a list")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Problems;
    use crate::runner::read_spec;

    #[test]
    fn every_default_kind_has_a_rule_for_a_default_agent() {
        let rules = default_kind_rules();
        let shown: Vec<_> = rules
            .iter()
            .map(|rule| (rule.kind.as_str(), rule.rank, rule.agent.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("brainstorm", 1.0, "planner"),
                ("research", 2.0, "planner"),
                ("fix", 3.0, "developer"),
                ("implementation", 4.0, "developer"),
                ("loop", 4.5, "developer"),
                ("chores", 5.0, "developer"),
                ("documentation", 6.0, "developer"),
            ]
        );
        assert_eq!(KindRule::check_all(&rules), Ok(()));
    }

    #[test]
    fn every_role_has_a_specialist_that_could_run_now() {
        let shown: Vec<_> = specialists()
            .iter()
            .map(|agent| {
                assert_eq!(agent.check(), Problems::default(), "{}", agent.name);
                assert_eq!(agent.check_new_name(), Problems::default());
                let spec = read_spec(agent, std::path::Path::new("/nowhere")).unwrap();
                for part in ["## Report", "\"result\": \"passed\"", "chorus task report"] {
                    assert!(spec.contains(part), "{} has no {part}", agent.name);
                }
                let role = agent.roles.iter().map(ToString::to_string);
                let minutes = agent.max_session_duration.unwrap().get();
                assert!(!agent.skills.is_empty() && !agent.responsibilities.is_blank());
                (
                    agent.name.to_string(),
                    role.collect::<Vec<_>>().join(" "),
                    minutes,
                )
            })
            .collect();
        let expected = [
            ("implementation", 120),
            ("testing", 60),
            ("fixing", 90),
            ("verification", 30),
        ]
        .map(|(role, minutes)| (format!("{role}-specialist"), role.to_owned(), minutes));
        assert_eq!(shown, expected);
    }

    #[test]
    fn there_are_five_defaults_that_can_read_edit_and_hand_off() {
        let agents = default_agents();
        let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "developer",
                "developer-review",
                "qa",
                "planner",
                "orchestrator"
            ]
        );
        for agent in agents {
            assert_eq!(
                agent.spec_path.as_str(),
                format!("agents/{}.md", agent.name)
            );
            assert_eq!(agent.permission_mode.as_str(), "bypassPermissions");
            for tool in ["Read", "Edit", "Bash(scripts/agent/handoff.sh *)"] {
                assert!(
                    agent.allowed_tools.as_str().contains(tool),
                    "{} cannot {tool}",
                    agent.name
                );
            }
        }
    }
}
