//! The briefing of an agent: everything beside its task and its prompt.

use crate::domain::{Agent, ConversationHistory, Kind, Mail, Message, Tool};
use crate::ledger::{agent, mail, request, task, tool};
use crate::store::tables::earlier_results::{self, EarlierResult};
use crate::store::tables::runs::{self, RunOfSession};
use crate::store::tables::{messages, sessions};
use crate::store::{Result, View};

use super::find::ClaimedRun;

const MOST_MESSAGES: u32 = 200;

const MOST_MAIL: u32 = 40;

const MOST_RESULTS: u32 = 8;

/// An older prompt of a resumed session may contain a part that the newer ones left out.
const MOST_EARLIER_RUNS: u32 = 20;

/// Everything that an agent is told beside its task and its prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Briefing {
    pub agents: Vec<Agent>,
    /// The kinds of requests that are dispatched, highest rank first.
    pub kinds: Vec<Kind>,
    /// The hand-off tools that the agent may call, by name.
    pub tools: Vec<Tool>,
    /// The final messages of the newest hand-offs on the same work, oldest first.
    pub results: Vec<EarlierResult>,
    /// Whether older final messages were omitted.
    pub has_more_results: bool,
    /// The conversation that was moved to the agent.
    pub history: Option<ConversationHistory>,
    /// The newest messages of the ancestor tasks, oldest first; in a chat also those of the task itself.
    pub conversation: Vec<Message>,
    /// Whether older messages were omitted.
    pub has_more_conversation: bool,
    /// The newest mail that the agent has not read or must acknowledge, oldest first.
    pub mail: Vec<Mail>,
    /// The number of omitted older mails.
    pub older_mail: usize,
    /// The runs of the session that the agent resumes, newest first.
    pub resumed: Vec<RunOfSession>,
}

impl Briefing {
    /// Leaves out the results and the messages that the resumed session contains: those before its newest run, and its own results.
    pub fn leave_out_told(&mut self) {
        let Some(told) = self.resumed.first().map(|newest| newest.started_at) else {
            return;
        };
        let messages = self.conversation.len();
        let resumed = &self.resumed;
        self.conversation.retain(|message| {
            let is_own = |run: &RunOfSession| Some(&run.handoff_id) == message.handoff_id.as_ref();
            message.timestamp >= told && !resumed.iter().any(is_own)
        });
        self.has_more_conversation &= self.conversation.len() == messages;
        self.has_more_results &= self
            .results
            .iter()
            .all(|result| result.completed_at >= told);
        self.results.retain(|result| {
            let is_own = |run: &RunOfSession| run.handoff_id == result.handoff_id;
            result.completed_at >= told && !resumed.iter().any(is_own)
        });
    }
}

/// Collects the briefing of a run, from one snapshot.
pub fn briefing(view: &View<'_>, claimed: &ClaimedRun) -> Result<Briefing> {
    let run = &claimed.identity;
    let task_number = task::number(view, &run.task_id)?;
    let resumed = match &claimed.resumes {
        Some(session) => {
            let (agent, limit) = (&run.agent_name, MOST_EARLIER_RUNS);
            runs::list_of_session(view, task_number, agent, session, limit)?
        }
        None => Vec::new(),
    };
    let mut conversation = if claimed.is_chat {
        messages::before_chat(view, &run.handoff_id, task_number, MOST_MESSAGES + 1)?
    } else {
        messages::of_ancestors(view, task_number, MOST_MESSAGES + 1)?
    };
    let has_more_conversation = conversation.len() > MOST_MESSAGES as usize;
    conversation.truncate(MOST_MESSAGES as usize);
    conversation.reverse();
    // The conversation of a chat has the final messages.
    let mut results = if claimed.is_chat {
        Vec::new()
    } else {
        earlier_results::before(view, &run.handoff_id, MOST_RESULTS + 1)?
    };
    let has_more_results = results.len() > MOST_RESULTS as usize;
    results.truncate(MOST_RESULTS as usize);
    results.reverse();
    let mut history = sessions::find_history(view, &run.handoff_id)?;
    if claimed.is_chat && history.is_none() && resumed.is_empty() {
        history = sessions::find_last_history(view, task_number)?;
    }
    let (mail, older_mail) = mail::list_pending(view, &run.agent_name, MOST_MAIL)?;
    Ok(Briefing {
        agents: agent::list(view)?,
        kinds: request::kind_rules::list_kinds(view)?,
        tools: tool::list_usable_by(view, &run.agent_name)?,
        results,
        has_more_results,
        history,
        conversation,
        has_more_conversation,
        mail,
        older_mail,
        resumed,
    })
}
