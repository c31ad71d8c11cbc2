//! Checks of an agent, so that no fault of it is found only when it runs.

use std::path::Path;

use super::agent::{Agent, Provider};
use crate::domain::{Problems, Refusal, Text};

/// Those who act and send beside agents: an agent of the same name would be taken for them.
const RESERVED: [&str; 5] = ["operator", "router", "anonymous", "dispatcher", "chorus"];

/// What Chorus itself says to the process of an agent, whatever the agent's own environment is.
pub const OWN_ENVIRONMENT: [&str; 7] = [
    "CHORUS_URL",
    "CHORUS_TASK_ID",
    "CHORUS_HANDOFF_ID",
    "CHORUS_AGENT",
    "CHORUS_TOKEN",
    "TRACEPARENT",
    "PATH",
];

/// How many arguments, or variables of the environment, there may be.
const MOST_ARGUMENTS: usize = 1000;

/// How many bytes arguments, or the environment, may have together. Systems take 128 KiB in one argument.
const LARGEST_ARGUMENTS: usize = 100 * 1024;

/// How many bytes the tools may have.
const LONGEST_TOOLS: usize = 32 * 1024;

/// How many bytes a path, a model or a mode may have.
const LONGEST_WORD: usize = 4 * 1024;

/// How many bytes the responsibilities may have.
const LONGEST_RESPONSIBILITIES: usize = 4 * 1024;

/// The longest limit of a run: a year.
const MOST_SECONDS: u64 = 365 * 24 * 60 * 60;

impl Agent {
    /// Checks the name of an agent that is to be made.
    pub fn check_new_name(&self) -> Problems {
        let mut problems = Problems::default();
        let is_it = |word: &&str| self.name.as_str().eq_ignore_ascii_case(word);
        if let Some(word) = RESERVED.into_iter().find(is_it) {
            problems.add(
                "name",
                format!("{word} is not a name for an agent: it stands for somebody else in histories; choose another"),
            );
        }
        problems
    }

    /// Finds what is wrong with an agent, beside whether its spec is there.
    pub fn check(&self) -> Problems {
        let mut problems = Problems::default();
        // Whoever sets a spec must not get to read whatever else is below the data directory.
        let is_spec = Path::new(self.spec_path.as_str())
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let is_without = self.provider == Provider::Command && self.spec_path.is_blank();
        if !is_spec && !is_without {
            problems.add(
                "specPath",
                format!(
                    "must be a Markdown file below the data directory, such as agents/{}.md",
                    self.name
                ),
            );
        }
        if self.provider == Provider::Command && self.program.is_none() {
            problems.add("program", "must be given, because the provider is command");
        }
        // It is started in the working directory of a task, where nobody means it to be.
        let is_relative = |program: &Text| {
            let path = Path::new(program.as_str());
            path.is_relative() && program.as_str().contains('/')
        };
        if self.program.as_ref().is_some_and(is_relative) {
            problems.add(
                "program",
                "must be an absolute path, or a name that is looked for on PATH",
            );
        }
        for (field, word) in [("program", &self.program), ("model", &self.model)] {
            if word.as_ref().is_some_and(Text::is_blank) {
                problems.add(
                    field,
                    "must not be empty; null stands for the provider's own",
                );
            }
        }
        for (field, text, longest) in [
            ("specPath", Some(&self.spec_path), LONGEST_WORD),
            ("allowedTools", Some(&self.allowed_tools), LONGEST_TOOLS),
            ("permissionMode", Some(&self.permission_mode), LONGEST_WORD),
            ("model", self.model.as_ref(), LONGEST_WORD),
            ("program", self.program.as_ref(), LONGEST_WORD),
            (
                "responsibilities",
                Some(&self.responsibilities),
                LONGEST_RESPONSIBILITIES,
            ),
        ] {
            if text.is_some_and(|text| text.as_str().len() > longest) {
                problems.add(field, format!("must not be longer than {longest} bytes"));
            }
        }
        self.check_process(&mut problems);
        for (field, seconds) in [
            ("maxSeconds", self.max_seconds),
            ("idleSeconds", self.idle_seconds),
        ] {
            if seconds.is_some_and(|seconds| !(1..=MOST_SECONDS).contains(&seconds)) {
                problems.add(
                    field,
                    format!("must be 1 to {MOST_SECONDS}; null stands for the server's limit"),
                );
            }
        }
        problems
    }

    /// Checks what a system must take when it starts the program.
    fn check_process(&self, problems: &mut Problems) {
        let arguments = self.arguments.iter().map(|text| text.as_str().len());
        let environment = self.environment.iter();
        let environment =
            environment.map(|(name, value)| name.as_str().len() + value.as_str().len());
        for (field, count, bytes) in [
            ("arguments", self.arguments.len(), arguments.sum::<usize>()),
            ("environment", self.environment.len(), environment.sum()),
        ] {
            if count > MOST_ARGUMENTS {
                problems.add(field, format!("must not be more than {MOST_ARGUMENTS}"));
            }
            if bytes > LARGEST_ARGUMENTS {
                problems.add(
                    field,
                    format!("must not have more than {LARGEST_ARGUMENTS} bytes together"),
                );
            }
        }
        for name in self.environment.keys().map(Text::as_str) {
            let is_illegal = |c: char| c == '=' || c.is_whitespace() || c.is_control();
            if name.is_empty() || name.contains(is_illegal) {
                problems.add(
                    "environment",
                    format!("{name:?} is not a name of a variable; it must be one word without ="),
                );
            } else if OWN_ENVIRONMENT.contains(&name) {
                problems.add("environment", format!("{name} is set by Chorus itself"));
            }
        }
    }

    /// Checks what a run makes of its own agent: it may lower the limit of its sessions, and not raise it.
    pub fn check_announced(&self, announced: &Self) -> Result<(), Refusal> {
        let raised = self.max_session_duration.filter(|limit| {
            announced
                .max_session_duration
                .is_none_or(|asked| asked > *limit)
        });
        match raised {
            Some(limit) => Err(Refusal::SessionLimitRaised {
                agent: self.name.clone(),
                limit,
            }),
            None => Ok(()),
        }
    }

    /// Lists the keys in which another agent differs.
    pub fn keys_that_differ(&self, other: &Self) -> Vec<String> {
        let json = |agent: &Self| serde_json::to_value(agent).expect("an agent is JSON");
        let (mine, others) = (json(self), json(other));
        let keys = mine.as_object().into_iter().flatten();
        keys.filter(|(key, value)| others[key.as_str()] != **value)
            .map(|(key, _)| key.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::change::AgentChange;
    use super::*;

    fn agent(json: serde_json::Value) -> Agent {
        let change: AgentChange = serde_json::from_value(json).unwrap();
        change.into_new("mine".parse().unwrap())
    }

    fn fields(json: serde_json::Value) -> Vec<String> {
        let problems = agent(json).check().0;
        problems.into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn what_would_fail_at_the_first_run_is_found() {
        let nothing: [&str; 0] = [];
        assert_eq!(fields(json!({})), nothing);
        assert_eq!(
            fields(json!({ "provider": "command", "program": "sh" })),
            nothing
        );
        let many: Vec<_> = (0..=MOST_ARGUMENTS).map(|n| n.to_string()).collect();
        let long = |bytes: usize| "x".repeat(bytes + 1);
        for (json, field) in [
            (json!({ "provider": "command" }), "program"),
            (json!({ "provider": "command", "program": " " }), "program"),
            (json!({ "model": "" }), "model"),
            (json!({ "specPath": " " }), "specPath"),
            (json!({ "specPath": "operator.token" }), "specPath"),
            (
                json!({ "provider": "command", "program": "sh", "specPath": "md" }),
                "specPath",
            ),
            (json!({ "maxSeconds": 0 }), "maxSeconds"),
            (json!({ "maxSeconds": u64::MAX }), "maxSeconds"),
            (json!({ "idleSeconds": 0 }), "idleSeconds"),
            (json!({ "arguments": many }), "arguments"),
            (
                json!({ "arguments": [long(LARGEST_ARGUMENTS)] }),
                "arguments",
            ),
            (
                json!({ "environment": { "A": long(LARGEST_ARGUMENTS) } }),
                "environment",
            ),
            (json!({ "environment": { "": "x" } }), "environment"),
            (json!({ "environment": { "A=B": "x" } }), "environment"),
            (json!({ "environment": { "A\nB": "x" } }), "environment"),
            (
                json!({ "environment": { "CHORUS_TOKEN": "x" } }),
                "environment",
            ),
            (
                json!({ "responsibilities": long(LONGEST_RESPONSIBILITIES) }),
                "responsibilities",
            ),
            (
                json!({ "allowedTools": long(LONGEST_TOOLS) }),
                "allowedTools",
            ),
        ] {
            assert_eq!(fields(json), [field]);
        }
    }

    #[test]
    fn a_run_lowers_its_limit_and_does_not_raise_it() {
        let limited = |minutes: Option<u32>| agent(json!({ "maxSessionDuration": minutes }));
        for (before, after, is_allowed) in [
            (None, None, true),
            (None, Some(10), true),
            (Some(10), Some(10), true),
            (Some(10), Some(9), true),
            (Some(10), Some(11), false),
            (Some(10), None, false),
        ] {
            let checked = limited(before).check_announced(&limited(after));
            assert_eq!(checked.is_ok(), is_allowed, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_differs_is_named_as_it_is_written() {
        let one = agent(json!({ "roles": ["testing"], "maxSessionDuration": 3 }));
        let other = agent(json!({ "roles": ["fixing"] }));
        assert_eq!(
            one.keys_that_differ(&other),
            ["roles", "maxSessionDuration"]
        );
        assert_eq!(one.keys_that_differ(&one), [""; 0]);
    }
}
