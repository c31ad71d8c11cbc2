//! The prompt of a resumed session: only what the agent has not been told yet.
//!
//! # How it works
//!
//! The session contains the prompts of its earlier runs. A part that does not change by growing (the task, the tools, the context) is
//! left out if the newest earlier prompt with its heading has the very same text. Results and conversations contain only what is newer
//! than the last run; mail and queued messages are delivered once in any case. If an earlier prompt cannot be read, more is told than
//! necessary, never less.

use std::io::Read;

use super::{READING, answering, push};
use crate::config::DataDir;
use crate::domain::RunIdentity;
use crate::ledger::run::{Briefing, ClaimedRun};
use crate::runner::run_dir::open_plain;
use crate::supervisor::RunFiles;

/// The number of bytes that are read of an earlier prompt.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The beginning of a prompt without a spec.
const BEGINNING: &str = "# Working in Chorus\n";

/// The earlier prompts of a session, newest first.
pub(in crate::runner) struct EarlierPrompts(Vec<String>);

impl EarlierPrompts {
    /// Reads the prompts of the runs that the agent resumes. Returns `None` for an agent that must be told everything.
    pub fn read(briefing: &Briefing, data_dir: &DataDir) -> Option<Self> {
        let runs = briefing.resumed.iter();
        let prompts = runs.map_while(|run| {
            let file = open_plain(&RunFiles::new(&data_dir.run(&run.run_id)).prompt()).ok()?;
            let mut prompt = String::new();
            file.take(LONGEST).read_to_string(&mut prompt).ok()?;
            Some(prompt)
        });
        let prompts: Vec<_> = prompts.collect();
        (!prompts.is_empty()).then_some(Self(prompts))
    }

    /// Whether the agent knows a spec, which stands before the first heading of a prompt.
    pub fn have_told_spec(&self, spec: &str) -> bool {
        let newest = self.0.iter().find(|prompt| !prompt.starts_with(BEGINNING));
        newest.is_some_and(|prompt| prompt.starts_with(spec))
    }

    /// Whether the agent knows a part in its present form.
    pub fn have_told(&self, part: &str) -> bool {
        let heading = part.lines().next().unwrap_or_default();
        let newest = self
            .0
            .iter()
            .find(|prompt| prompt.lines().any(|line| line == heading));
        newest.is_some_and(|prompt| prompt.contains(part))
    }
}

/// Introduces the prompt of a resumed session.
pub(super) fn introduction(text: &mut String, run: &ClaimedRun) {
    let RunIdentity {
        agent_name,
        task_id,
        ..
    } = &run.identity;
    push(
        text,
        format_args!(
            "# Working in Chorus\n\nYou continue your session as the agent {agent_name} on task {task_id}. What your earlier prompts say still holds. \
             This prompt says only what is new. A part below replaces the earlier part with the same heading; results and conversations \
             come in addition.\n\
             If you do not know your earlier prompts any more, run `chorus task show {task_id} --full` and \
             `chorus task conversation {task_id}` before you begin.\n\
             {}\n{READING}\n\n",
            answering(run.mode)
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_again_if_the_newest_prompt_with_its_heading_differs() {
        let prompts = [
            "# Working\n\n",
            "# The task\n\n> b\n\n# Tools\n\nt\n\n",
            "# The task\n\n> a\n\n",
        ];
        let told = EarlierPrompts(prompts.map(str::to_owned).to_vec());
        assert!(told.have_told("# The task\n\n> b\n\n"));
        assert!(told.have_told("# Tools\n\nt\n\n"));
        assert!(!told.have_told("# The task\n\n> a\n\n"));
        assert!(!told.have_told("# Context\n\n"));
        assert!(!told.have_told_spec("You test."));
    }
}
