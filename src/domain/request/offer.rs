//! The agents that are offered requests in state `next`.

use super::kind::Kind;
use super::kind_rule::KindRule;
use crate::domain::{Agent, Role, Skill};

impl Agent {
    /// Whether the agent does work of a kind: the rule of the kind names it, or without a rule, one of its roles or skills is called
    /// like the kind.
    pub fn does(&self, kind: &Kind, rule: Option<&KindRule>) -> bool {
        if let Some(rule) = rule {
            return rule.agent.eq_ignore_case(&self.name);
        }
        let skills = self.skills.iter().map(Skill::as_str);
        let mut words = self.roles.iter().map(Role::as_str).chain(skills);
        words.any(|word| word == kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::AgentChange;

    #[test]
    fn a_rule_decides_and_without_a_rule_roles_and_skills() {
        let change: AgentChange =
            serde_json::from_value(json!({ "roles": ["fixing"], "skills": ["research"] })).unwrap();
        let agent = change.into_new("qa".parse().unwrap());
        let rule = |kind: &str, agent: &str| {
            serde_json::from_value::<KindRule>(json!({ "kind": kind, "agent": agent, "rank": 1 }))
                .unwrap()
        };
        for (kind, rule, expected) in [
            ("research", None, true),
            ("fixing", None, true),
            ("fix", None, false),
            ("fix", Some(rule("fix", "QA")), true),
            ("research", Some(rule("research", "planner")), false),
        ] {
            let kind: Kind = kind.parse().unwrap();
            assert_eq!(
                agent.does(&kind, rule.as_ref()),
                expected,
                "{kind} {rule:?}"
            );
        }
    }
}
