//! The briefing of an agent: everything beside its task and its prompt.

use crate::domain::{Agent, ConversationHistory, Kind, Mail, Message, RunIdentity, Tool};
use crate::ledger::{agent, mail, request, task, tool};
use crate::store::tables::earlier_results::{self, EarlierResult};
use crate::store::tables::{messages, sessions};
use crate::store::{Result, View};

const MOST_MESSAGES: u32 = 200;

const MOST_MAIL: u32 = 40;

const MOST_RESULTS: u32 = 8;

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
    /// The newest messages of the ancestor tasks, oldest first.
    pub conversation: Vec<Message>,
    /// Whether older messages were omitted.
    pub has_more_conversation: bool,
    /// The newest mail that the agent has not read or must acknowledge, oldest first.
    pub mail: Vec<Mail>,
    /// The number of omitted older mails.
    pub older_mail: usize,
}

/// Collects the briefing of a run, from one snapshot.
pub fn briefing(view: &View<'_>, run: &RunIdentity) -> Result<Briefing> {
    let task_number = task::number(view, &run.task_id)?;
    let mut conversation = messages::of_ancestors(view, task_number, MOST_MESSAGES + 1)?;
    let has_more_conversation = conversation.len() > MOST_MESSAGES as usize;
    conversation.truncate(MOST_MESSAGES as usize);
    conversation.reverse();
    let mut results = earlier_results::before(view, &run.handoff_id, MOST_RESULTS + 1)?;
    let has_more_results = results.len() > MOST_RESULTS as usize;
    results.truncate(MOST_RESULTS as usize);
    results.reverse();
    let (mail, older_mail) = mail::list_pending(view, &run.agent_name, MOST_MAIL)?;
    Ok(Briefing {
        agents: agent::list(view)?,
        kinds: request::kind_rules::list_kinds(view)?,
        tools: tool::list_usable_by(view, &run.agent_name)?,
        results,
        has_more_results,
        history: sessions::find_history(view, &run.handoff_id)?,
        conversation,
        has_more_conversation,
        mail,
        older_mail,
    })
}
