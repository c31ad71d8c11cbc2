//! Suitability: the ranking of agents for a task.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{AgentName, Role, Skill, TaskId, Text};

/// What is known of an agent when a task is to be given to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applicant {
    /// Its name.
    pub name: AgentName,
    /// Whether it takes hand-offs now.
    pub available: bool,
    /// The parts that it plays.
    pub roles: Vec<Role>,
    /// What it is good at.
    pub skills: Vec<Skill>,
    /// How many hand-offs it works on, or has in line.
    pub busy: u32,
    /// Whether its program is not on this machine.
    pub is_missing: bool,
    /// What it has done before.
    pub past: Past,
}

/// What an agent has done on a task, on its tree, and on what it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// Whether it has worked there.
    pub knows_it: bool,
    /// Whether it made there what this task judges.
    pub made_it: bool,
    /// Whether it was given this task before, and failed.
    pub has_failed: bool,
}

/// Whom the router gives a task to, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteChoice {
    /// The task.
    pub task_id: TaskId,
    /// Whom it is given to; null if nobody.
    #[schema(required)]
    pub agent: Option<AgentName>,
    /// Whether that is the fallback agent, because nobody suits.
    pub fallback: bool,
    /// Whether the router gives it to somebody now.
    pub ready: bool,
    /// Why nobody gets it now.
    #[schema(required)]
    pub reason: Option<Text>,
    /// Every agent: those that suit first, the best first.
    pub candidates: Vec<Candidate>,
}

/// How an agent suits a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Who.
    pub agent: AgentName,
    /// How many of the task's tags are among its skills and roles; 0 if it does not suit.
    pub score: u32,
    /// Whether it suits.
    pub suits: bool,
    /// Whether it is the one.
    pub taken: bool,
    /// Why it is, or why not.
    #[schema(value_type = String)]
    pub why: Text,
}

/// Why one who suits comes after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a criterion of its own, and they are compared in this order"
)]
struct Rank {
    is_missing: bool,
    judges_own_work: bool,
    has_failed: bool,
    matches: Reverse<u32>,
    busy: u32,
    is_new_here: bool,
}

/// Puts the agents in order: those that suit first, the best first. The first one that suits is taken.
pub fn judge(role: &Role, tags: &[Skill], applicants: Vec<Applicant>) -> Vec<Candidate> {
    let mut suited = Vec::new();
    let mut unsuited = Vec::new();
    for applicant in applicants {
        match matches(role, tags, &applicant) {
            Ok(matches) => suited.push((rank(role, matches, &applicant), applicant)),
            Err(lack) => unsuited.push(Candidate {
                agent: applicant.name,
                score: 0,
                suits: false,
                taken: false,
                why: Text::lossy(lack.told(role, tags)),
            }),
        }
    }
    suited.sort_by(|(rank, one), (other_rank, other)| {
        rank.cmp(other_rank).then_with(|| one.name.cmp(&other.name))
    });
    unsuited.sort_by(|one, other| one.agent.cmp(&other.agent));
    let best = suited
        .first()
        .map(|(rank, applicant)| (*rank, applicant.name.clone()));
    let mut candidates: Vec<_> = suited
        .into_iter()
        .map(|(rank, applicant)| {
            let is_best = best.as_ref().filter(|(_, name)| *name != applicant.name);
            let why = match is_best {
                None => taken(rank, tags),
                Some((best, name)) => passed_over(rank, *best, name),
            };
            Candidate {
                taken: is_best.is_none(),
                agent: applicant.name,
                score: rank.matches.0,
                suits: true,
                why: Text::lossy(why),
            }
        })
        .collect();
    candidates.extend(unsuited);
    candidates
}

/// Returns the agent that suits best, without saying why.
pub fn best(role: &Role, tags: &[Skill], applicants: Vec<Applicant>) -> Option<AgentName> {
    let suited = applicants.into_iter().filter_map(|applicant| {
        let matches = matches(role, tags, &applicant).ok()?;
        Some((rank(role, matches, &applicant), applicant.name))
    });
    suited.min().map(|(_, name)| name)
}

/// Why an agent does not suit.
#[derive(Debug, Clone, Copy)]
enum Lack {
    Role,
    Skills,
    Availability,
}

impl Lack {
    fn told(self, role: &Role, tags: &[Skill]) -> String {
        match self {
            Self::Role => format!("It does not have the role {role}"),
            Self::Skills => format!("It has none of the skills {}", listed(tags)),
            Self::Availability => "It is not available".to_owned(),
        }
    }
}

/// Counts the tags that an agent has, or says why it does not suit. A role counts as a skill.
fn matches(role: &Role, tags: &[Skill], applicant: &Applicant) -> Result<u32, Lack> {
    if !applicant.roles.contains(role) {
        return Err(Lack::Role);
    }
    let has = |tag: &&Skill| {
        applicant.skills.contains(tag)
            || applicant
                .roles
                .iter()
                .any(|role| role.as_str() == tag.as_str())
    };
    let matches = tags.iter().filter(has).count();
    if matches == 0 && !tags.is_empty() {
        return Err(Lack::Skills);
    }
    if !applicant.available {
        return Err(Lack::Availability);
    }
    Ok(u32::try_from(matches).unwrap_or(u32::MAX))
}

fn rank(role: &Role, matches: u32, applicant: &Applicant) -> Rank {
    Rank {
        is_missing: applicant.is_missing,
        judges_own_work: role.judges() && applicant.past.made_it,
        has_failed: applicant.past.has_failed,
        matches: Reverse(matches),
        busy: applicant.busy,
        is_new_here: !applicant.past.knows_it,
    }
}

fn taken(rank: Rank, tags: &[Skill]) -> String {
    let (matches, busy) = (rank.matches.0, rank.busy);
    let mut why = if tags.is_empty() {
        format!("It has the role, and works on {busy} other tasks")
    } else {
        let all = tags.len();
        format!("It has the role and {matches} of {all} skills, and works on {busy} other tasks")
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

fn passed_over(rank: Rank, best: Rank, name: &AgentName) -> String {
    if rank.is_missing != best.is_missing {
        "Its program is not on this machine; `chorus doctor` says which".to_owned()
    } else if rank.judges_own_work != best.judges_own_work {
        "It made what is to be judged, and another one is there".to_owned()
    } else if rank.has_failed != best.has_failed {
        "It was given this task before, and failed".to_owned()
    } else if rank.matches != best.matches {
        format!(
            "It has {} of the skills, and {name} has {}",
            rank.matches.0, best.matches.0
        )
    } else if rank.busy != best.busy {
        format!(
            "It works on {} tasks, and {name} on {}",
            rank.busy, best.busy
        )
    } else if rank.is_new_here != best.is_new_here {
        format!("{name} has worked here before")
    } else {
        format!("It suits as well as {name}, who comes first by name")
    }
}

/// Says whom nobody is.
pub fn nobody_suits(role: &Role, tags: &[Skill]) -> Text {
    let tags = if tags.is_empty() {
        String::new()
    } else {
        format!(" and one of the skills {}", listed(tags))
    };
    Text::lossy(format!(
        "No agent is available that has the role {role}{tags}"
    ))
}

fn listed(words: &[Skill]) -> String {
    let words: Vec<_> = words.iter().map(Skill::as_str).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applicant(name: &str, roles: &[&str], skills: &[&str]) -> Applicant {
        Applicant {
            name: AgentName::parse(name).unwrap(),
            available: true,
            roles: roles
                .iter()
                .map(|word| Role::parse(*word).unwrap())
                .collect(),
            skills: skills
                .iter()
                .map(|word| Skill::parse(word).unwrap())
                .collect(),
            busy: 0,
            is_missing: false,
            past: Past::default(),
        }
    }

    fn order(role: &str, tags: &[&str], applicants: Vec<Applicant>) -> Vec<String> {
        let tags: Vec<_> = tags.iter().map(|tag| Skill::parse(tag).unwrap()).collect();
        let role = Role::parse(role).unwrap();
        let taken = best(&role, &tags, applicants.clone());
        let judged = judge(&role, &tags, applicants);
        let first = judged.first().filter(|candidate| candidate.suits);
        assert_eq!(taken.as_ref(), first.map(|candidate| &candidate.agent));
        assert_eq!(
            judged.iter().filter(|candidate| candidate.taken).count(),
            usize::from(judged.iter().any(|candidate| candidate.suits))
        );
        judged
            .into_iter()
            .filter(|candidate| candidate.suits)
            .map(|candidate| format!("{} {}", candidate.agent, candidate.score))
            .collect()
    }

    #[test]
    fn only_those_suit_that_are_there_and_have_the_role_and_a_skill() {
        let away = Applicant {
            available: false,
            ..applicant("away", &["testing"], &["python"])
        };
        let all = vec![
            applicant("other-role", &["fixing"], &["python"]),
            applicant("no-skill", &["testing"], &["rust"]),
            applicant("none", &["testing"], &[]),
            away,
            applicant("b", &["fixing", "testing"], &["python", "x"]),
        ];
        assert_eq!(order("testing", &["python", "mcp"], all.clone()), ["b 1"]);
        assert_eq!(
            order("testing", &[], all.clone()),
            ["b 0", "no-skill 0", "none 0"],
            "without tags the role is enough"
        );
        assert_eq!(
            order("testing", &["testing", "fixing"], all),
            ["b 2", "no-skill 1", "none 1"],
            "a role counts as a skill"
        );
    }

    #[test]
    fn the_best_match_comes_first_then_the_least_busy_then_who_knows_it() {
        let better = applicant("z", &["fixing"], &["a", "b"]);
        let busy = Applicant {
            busy: 3,
            past: Past {
                knows_it: true,
                ..Past::default()
            },
            ..applicant("a", &["fixing"], &["a"])
        };
        let idle = applicant("c", &["fixing"], &["a"]);
        let known = Applicant {
            past: Past {
                knows_it: true,
                ..Past::default()
            },
            ..applicant("d", &["fixing"], &["a"])
        };
        let missing = Applicant {
            is_missing: true,
            ..applicant("b", &["fixing"], &["a", "b"])
        };
        let all = vec![busy, missing, idle, known, better];
        assert_eq!(
            order("fixing", &["a", "b"], all),
            ["z 2", "d 1", "c 1", "a 1", "b 2"],
            "who cannot be started comes last"
        );
    }

    #[test]
    fn nobody_judges_what_it_made_if_another_one_is_there() {
        let maker = Applicant {
            past: Past {
                made_it: true,
                ..Past::default()
            },
            ..applicant("maker", &["testing", "fixing"], &["a", "b"])
        };
        let failed = Applicant {
            past: Past {
                has_failed: true,
                ..Past::default()
            },
            busy: 9,
            ..applicant("other", &["testing"], &["a"])
        };
        let both = vec![maker.clone(), failed];
        assert_eq!(
            order("testing", &["a", "b"], both.clone()),
            ["other 1", "maker 2"]
        );
        assert_eq!(
            order("testing", &["a", "b"], vec![maker.clone()]),
            ["maker 2"]
        );
        assert_eq!(
            order("fixing", &["a"], vec![maker]),
            ["maker 1"],
            "what one made one may mend"
        );
    }
}
