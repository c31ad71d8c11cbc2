//! Suitability: the ranking of agents for a task.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{AgentName, Role, Skill, TaskId, Text};

/// An agent with everything that affects its rank for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applicant {
    pub name: AgentName,
    pub available: bool,
    pub roles: Vec<Role>,
    pub skills: Vec<Skill>,
    /// The number of running and queued hand-offs.
    pub busy: u32,
    /// Whether its program is not installed on this machine.
    pub is_missing: bool,
    pub past: Past,
}

impl Applicant {
    /// Whether the agent has a skill. A role counts as a skill.
    pub(super) fn has(&self, skill: &Skill) -> bool {
        let is_same = |role: &Role| role.as_str() == skill.as_str();
        self.skills.contains(skill) || self.roles.iter().any(is_same)
    }
}

/// The earlier work of an agent on a task, its family and its dependencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    /// Whether the agent has worked there.
    pub has_worked_here: bool,
    /// Whether the agent produced the work that this task reviews.
    pub produced_work: bool,
    /// Whether the agent was assigned this task before and failed.
    pub has_failed: bool,
}

/// The agent that the router chooses for a task, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteChoice {
    /// The task.
    pub task_id: TaskId,
    /// The chosen agent; null if there is none.
    #[schema(required)]
    pub agent: Option<AgentName>,
    /// Whether the fallback agent was chosen because no agent qualifies.
    pub fallback: bool,
    /// Whether the router can assign the task now.
    pub ready: bool,
    /// The reason why the task is not assigned now.
    #[schema(required)]
    pub reason: Option<Text>,
    /// All agents: those that qualify first, best first.
    pub candidates: Vec<Candidate>,
}

/// The rating of an agent for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The agent.
    pub agent: AgentName,
    /// The number of the task's tags among the skills and roles of the agent; 0 if it does not qualify.
    pub score: u32,
    /// Whether the agent qualifies.
    pub suits: bool,
    /// Whether the agent was chosen.
    pub taken: bool,
    /// The reason for the decision.
    #[schema(value_type = String)]
    pub why: Text,
}

/// The verdict on one agent for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    pub agent: AgentName,
    pub verdict: Verdict,
}

/// The result of comparing an agent with the needs of a task and with the other agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Best {
        rank: Rank,
        /// The number of skills that the task asks for.
        wanted: usize,
    },
    /// The agent qualifies, but another agent ranks higher.
    PassedOver {
        matches: u32,
        best: AgentName,
        criterion: Criterion,
    },
    Unsuited(Lack),
    /// The agent does not qualify, but gets the task because no other agent qualifies.
    Fallback,
}

/// The ranking criteria for agents that qualify, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate criterion, compared in this order"
)]
pub struct Rank {
    pub is_missing: bool,
    pub judges_own_work: bool,
    pub has_failed: bool,
    pub matches: Reverse<u32>,
    pub busy: u32,
    pub is_new_here: bool,
}

/// The first criterion by which an agent ranks below the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Criterion {
    MissingProgram,
    OwnWork,
    EarlierFailure,
    Skills { own: u32, best: u32 },
    Load { own: u32, best: u32 },
    Knowledge,
    Name,
}

/// The reason why an agent does not qualify.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lack {
    Role(Role),
    Skills(Vec<Skill>),
    Availability,
}

impl Assessment {
    /// Whether the agent has the role and a skill, and is available.
    pub const fn suits(&self) -> bool {
        matches!(
            self.verdict,
            Verdict::Best { .. } | Verdict::PassedOver { .. }
        )
    }

    pub const fn is_chosen(&self) -> bool {
        matches!(self.verdict, Verdict::Best { .. } | Verdict::Fallback)
    }

    /// Counts the skills of the task that the agent has; 0 if it does not qualify.
    pub const fn score(&self) -> u32 {
        match &self.verdict {
            Verdict::Best { rank, .. } => rank.matches.0,
            Verdict::PassedOver { matches, .. } => *matches,
            Verdict::Unsuited(_) | Verdict::Fallback => 0,
        }
    }
}

/// Ranks all agents: those that qualify first, best first. The first one that qualifies is chosen.
pub fn judge(role: &Role, tags: &[Skill], applicants: Vec<Applicant>) -> Vec<Assessment> {
    let mut suited = Vec::new();
    let mut unsuited = Vec::new();
    for applicant in applicants {
        match matches(role, tags, &applicant) {
            Ok(matches) => suited.push((rank(role, matches, &applicant), applicant.name)),
            Err(lack) => unsuited.push(Assessment {
                agent: applicant.name,
                verdict: Verdict::Unsuited(lack),
            }),
        }
    }
    suited.sort();
    unsuited.sort_by(|one, other| one.agent.cmp(&other.agent));
    let mut suited = suited.into_iter();
    let Some((best_rank, best)) = suited.next() else {
        return unsuited;
    };
    let chosen = Assessment {
        agent: best.clone(),
        verdict: Verdict::Best {
            rank: best_rank,
            wanted: tags.len(),
        },
    };
    let passed_over = suited.map(|(rank, agent)| Assessment {
        agent,
        verdict: Verdict::PassedOver {
            matches: rank.matches.0,
            best: best.clone(),
            criterion: Criterion::between(rank, best_rank),
        },
    });
    std::iter::once(chosen)
        .chain(passed_over)
        .chain(unsuited)
        .collect()
}

/// Returns the best agent without the reasons.
pub fn best(role: &Role, tags: &[Skill], applicants: Vec<Applicant>) -> Option<AgentName> {
    let suited = applicants.into_iter().filter_map(|applicant| {
        let matches = matches(role, tags, &applicant).ok()?;
        Some((rank(role, matches, &applicant), applicant.name))
    });
    suited.min().map(|(_, name)| name)
}

/// Counts the tags that an agent has, or returns the reason why it does not qualify.
fn matches(role: &Role, tags: &[Skill], applicant: &Applicant) -> Result<u32, Lack> {
    if !applicant.roles.contains(role) {
        return Err(Lack::Role(role.clone()));
    }
    let matches = tags.iter().filter(|tag| applicant.has(tag)).count();
    if matches == 0 && !tags.is_empty() {
        return Err(Lack::Skills(tags.to_vec()));
    }
    if !applicant.available {
        return Err(Lack::Availability);
    }
    Ok(u32::try_from(matches).unwrap_or(u32::MAX))
}

fn rank(role: &Role, matches: u32, applicant: &Applicant) -> Rank {
    Rank {
        is_missing: applicant.is_missing,
        judges_own_work: role.evaluates_work() && applicant.past.produced_work,
        has_failed: applicant.past.has_failed,
        matches: Reverse(matches),
        busy: applicant.busy,
        is_new_here: !applicant.past.has_worked_here,
    }
}

impl Criterion {
    /// Finds the first criterion in which two ranks differ. Equal ranks are ordered by name.
    fn between(own: Rank, best: Rank) -> Self {
        if own.is_missing != best.is_missing {
            Self::MissingProgram
        } else if own.judges_own_work != best.judges_own_work {
            Self::OwnWork
        } else if own.has_failed != best.has_failed {
            Self::EarlierFailure
        } else if own.matches != best.matches {
            Self::Skills {
                own: own.matches.0,
                best: best.matches.0,
            }
        } else if own.busy != best.busy {
            Self::Load {
                own: own.busy,
                best: best.busy,
            }
        } else if own.is_new_here != best.is_new_here {
            Self::Knowledge
        } else {
            Self::Name
        }
    }
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
        let first = judged.first().filter(|each| each.suits());
        assert_eq!(taken.as_ref(), first.map(|each| &each.agent));
        assert_eq!(
            judged.iter().filter(|each| each.is_chosen()).count(),
            usize::from(judged.iter().any(Assessment::suits))
        );
        judged
            .into_iter()
            .filter(Assessment::suits)
            .map(|each| format!("{} {}", each.agent, each.score()))
            .collect()
    }

    #[test]
    fn an_agent_needs_the_role_a_skill_and_availability() {
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
    fn skills_rank_before_load_before_familiarity() {
        let better = applicant("z", &["fixing"], &["a", "b"]);
        let busy = Applicant {
            busy: 3,
            past: Past {
                has_worked_here: true,
                ..Past::default()
            },
            ..applicant("a", &["fixing"], &["a"])
        };
        let idle = applicant("c", &["fixing"], &["a"]);
        let known = Applicant {
            past: Past {
                has_worked_here: true,
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
            "an agent without its program ranks last"
        );
    }

    #[test]
    fn an_agent_evaluates_its_own_work_only_without_an_alternative() {
        let maker = Applicant {
            past: Past {
                produced_work: true,
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
            "an agent may fix its own work"
        );
    }

    #[test]
    fn the_first_differing_criterion_decides() {
        let best = Rank {
            is_missing: false,
            judges_own_work: false,
            has_failed: false,
            matches: Reverse(2),
            busy: 1,
            is_new_here: false,
        };
        let worst = Rank {
            is_missing: true,
            judges_own_work: true,
            has_failed: true,
            matches: Reverse(1),
            busy: 3,
            is_new_here: true,
        };
        let mut rank = worst;
        assert_eq!(Criterion::between(rank, best), Criterion::MissingProgram);
        rank.is_missing = false;
        assert_eq!(Criterion::between(rank, best), Criterion::OwnWork);
        rank.judges_own_work = false;
        assert_eq!(Criterion::between(rank, best), Criterion::EarlierFailure);
        rank.has_failed = false;
        let skills = Criterion::Skills { own: 1, best: 2 };
        assert_eq!(Criterion::between(rank, best), skills);
        rank.matches = best.matches;
        let load = Criterion::Load { own: 3, best: 1 };
        assert_eq!(Criterion::between(rank, best), load);
        rank.busy = best.busy;
        assert_eq!(Criterion::between(rank, best), Criterion::Knowledge);
        assert_eq!(Criterion::between(best, best), Criterion::Name);
    }

    #[test]
    fn an_unsuited_agent_has_one_reason() {
        let role = Role::parse("testing").unwrap();
        let tags = [Skill::parse("python").unwrap()];
        let away = Applicant {
            available: false,
            ..applicant("c", &["testing"], &["python"])
        };
        let all = vec![
            applicant("a", &["fixing"], &["python"]),
            applicant("b", &["testing"], &["rust"]),
            away,
        ];
        let judged = judge(&role, &tags, all).into_iter();
        let verdicts: Vec<_> = judged.map(|each| each.verdict).collect();
        let lacks = [
            Lack::Role(role),
            Lack::Skills(tags.to_vec()),
            Lack::Availability,
        ];
        assert_eq!(verdicts, lacks.map(Verdict::Unsuited));
    }
}
