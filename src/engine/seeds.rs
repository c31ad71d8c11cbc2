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
    use crate::domain::{Commands, Permissions, Problems};
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
    fn each_seeded_agent_has_the_rights_that_its_work_needs() {
        let seeded = [default_agents(), specialists()].concat();
        let shown: Vec<_> = seeded
            .iter()
            .map(|agent| {
                assert_eq!(agent.check(), Problems::default(), "{}", agent.name);
                assert_eq!(
                    agent.spec_path.as_str(),
                    format!("agents/{}.md", agent.name)
                );
                let permissions = Permissions::of(agent).unwrap();
                assert!(!permissions.everything && !permissions.network);
                let commands = match permissions.commands {
                    Commands::Any => "any".to_owned(),
                    Commands::Prefixes(prefixes) => {
                        let programs = prefixes
                            .iter()
                            .filter_map(|prefix| prefix.split(' ').next());
                        let mut programs: Vec<_> = programs.collect();
                        programs.dedup();
                        programs.join(" ")
                    }
                };
                (agent.name.as_str(), permissions.edit, commands)
            })
            .collect();
        let any = || "any".to_owned();
        assert_eq!(
            shown,
            [
                ("developer", true, any()),
                ("developer-review", false, "git".to_owned()),
                ("qa", false, any()),
                ("planner", false, String::new()),
                ("orchestrator", false, String::new()),
                ("implementation-specialist", true, any()),
                ("testing-specialist", false, any()),
                ("fixing-specialist", true, any()),
                (
                    "verification-specialist",
                    false,
                    "git cargo go gradle ./gradlew make mvn npm pnpm pytest python python3 yarn"
                        .to_owned()
                ),
            ]
        );
    }
}
