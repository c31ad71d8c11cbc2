//! Remedies: the smallest change of an agent that makes it suitable for a task.

use super::suitability::Applicant;
use crate::domain::{AgentName, Role, Skill};

/// A change of an agent after which the router can give it a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    pub agent: AgentName,
    /// The whole new list, if a role is missing.
    pub roles: Option<Vec<Role>>,
    /// The whole new list, if all skills are missing.
    pub skills: Option<Vec<Skill>>,
    pub becomes_available: bool,
}

impl Remedy {
    /// Finds the smallest change. A program that is not installed weighs most, then a role, a skill and availability; then the name
    /// decides. `None` without agents.
    pub fn smallest(role: &Role, tags: &[Skill], applicants: &[Applicant]) -> Option<Self> {
        let remedies = applicants
            .iter()
            .map(|each| (each.is_missing, Self::of(role, tags, each)));
        let smallest = remedies.min_by(|(one_missing, one), (other_missing, other)| {
            (one_missing, one.weight(), &one.agent).cmp(&(
                other_missing,
                other.weight(),
                &other.agent,
            ))
        });
        smallest.map(|(_, remedy)| remedy)
    }

    fn of(role: &Role, tags: &[Skill], applicant: &Applicant) -> Self {
        let roles = (!applicant.roles.contains(role))
            .then(|| [&applicant.roles[..], std::slice::from_ref(role)].concat());
        let has_skill = tags.is_empty()
            || tags
                .iter()
                .any(|tag| applicant.has(tag) || tag.as_str() == role.as_str());
        let skills = (!has_skill).then(|| [&applicant.skills[..], &tags[..1]].concat());
        Self {
            agent: applicant.name.clone(),
            roles,
            skills,
            becomes_available: !applicant.available,
        }
    }

    const fn weight(&self) -> (bool, bool, bool) {
        (
            self.roles.is_some(),
            self.skills.is_some(),
            self.becomes_available,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Past;

    fn applicant(name: &str, roles: &[&str], skills: &[&str], available: bool) -> Applicant {
        Applicant {
            name: AgentName::parse(name).unwrap(),
            available,
            roles: roles
                .iter()
                .map(|role| Role::parse(*role).unwrap())
                .collect(),
            skills: skills
                .iter()
                .map(|skill| Skill::parse(*skill).unwrap())
                .collect(),
            busy: 0,
            is_missing: false,
            past: Past::default(),
        }
    }

    #[test]
    fn the_smallest_change_is_found() {
        let role = Role::parse("testing").unwrap();
        let tags = ["python", "mcp"].map(|tag| Skill::parse(tag).unwrap());
        let resting = applicant("resting", &["testing"], &["mcp"], false);
        let unskilled = applicant("unskilled", &["fixing", "testing"], &["rust"], true);
        let other = applicant("other", &["fixing"], &["python"], true);
        let last = applicant("zed", &[], &[], true);
        let remedy = |of: &[&Applicant]| {
            let of: Vec<_> = of.iter().map(|each| (*each).clone()).collect();
            Remedy::smallest(&role, &tags, &of).map(|remedy| {
                let roles = remedy.roles.map(|roles| roles.len());
                let skills = remedy.skills.map(|skills| skills.len());
                (
                    remedy.agent.to_string(),
                    roles,
                    skills,
                    remedy.becomes_available,
                )
            })
        };
        let found = |name: &str, roles, skills, available| {
            Some((name.to_owned(), roles, skills, available))
        };
        assert_eq!(
            remedy(&[&last, &other, &unskilled, &resting]),
            found("resting", None, None, true)
        );
        assert_eq!(
            remedy(&[&last, &other, &unskilled]),
            found("unskilled", None, Some(2), false)
        );
        assert_eq!(
            remedy(&[&last, &other]),
            found("other", Some(2), None, false)
        );
        assert_eq!(remedy(&[&last]), found("zed", Some(1), Some(1), false));
        let missing = Applicant {
            is_missing: true,
            ..resting
        };
        assert_eq!(
            remedy(&[&missing, &last]),
            found("zed", Some(1), Some(1), false)
        );
        assert_eq!(remedy(&[]), None);
    }

    #[test]
    fn a_role_that_is_asked_for_as_a_skill_is_enough() {
        let role = Role::parse("testing").unwrap();
        let tags = [Skill::parse("testing").unwrap()];
        let other = applicant("other", &[], &[], true);
        let remedy = Remedy::smallest(&role, &tags, &[other]).unwrap();
        assert_eq!((remedy.roles, remedy.skills), (Some(vec![role]), None));
    }
}
