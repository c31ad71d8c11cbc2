//! Skips the parts of an archive that are already in the database.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::ROUTES;
use super::one_file::{OneFile, Planned, file_of};
use super::plan::Plan;
use super::reader::BadFile;
use super::task_files::{PlannedTask, task_folder};
use crate::domain::{
    Alert, AlertId, Event, HandoffId, Increment, IncrementId, Mail, MailId, Request, RequestId,
    RunId,
};
use crate::ledger::{
    Result, View, agent, alert, archive, handoff, increment, mail, request, run, session, task,
    tool,
};

impl Plan {
    /// Moves all items that are already in the database from the plan to its bad files.
    pub fn leave_out_present(&mut self, view: &View<'_>) -> Result<()> {
        self.leave_out_tasks(view)?;
        self.leave_out_agents(view)?;
        self.leave_out_tools(view)?;
        self.leave_out_single_files(view)?;
        self.leave_out_routes(view)?;
        self.leave_out_events(view)?;
        self.leave_out_tags();
        let tasks = self.tasks.iter().map(|task| task.id.as_str());
        let requests = self.requests.iter().map(|request| request.id.as_str());
        let planned: HashSet<_> = tasks.chain(requests).collect();
        self.displaced
            .retain(|displaced| planned.contains(displaced.id.as_str()));
        Ok(())
    }

    fn leave_out_tasks(&mut self, view: &View<'_>) -> Result<()> {
        for task in std::mem::take(&mut self.tasks) {
            let message = if task::exists(view, &task.id)? {
                format!("task {} is already in the database", task.id)
            } else if let Some(session) = &task.session
                && session::exists(view, session)?
            {
                format!("session {session} is already in the database")
            } else if let Some(id) = known_handoff(view, &task)? {
                format!("hand-off {id} is already in the database, on another task")
            } else if let Some(id) = known_run(view, &task)? {
                format!("run {id} is already in the database, on another task")
            } else {
                self.tasks.push(task);
                continue;
            };
            let file = task_folder(&task.id).join("task.json");
            self.bad.push(bad_file(file, message));
        }
        Ok(())
    }

    fn leave_out_agents(&mut self, view: &View<'_>) -> Result<()> {
        for agent in std::mem::take(&mut self.agents) {
            let present = agent::find(view, &agent.name)?;
            // The values of an agent that exists stay.
            let agent = match &present {
                Some(present) => agent.with_values_of(present),
                None => agent,
            };
            let unset: Vec<_> = agent.variables_without_value().cloned().collect();
            if present.is_none() && !unset.is_empty() {
                self.without_value.push((agent.name.clone(), unset));
            }
            if let Some(program) = agent.program.as_ref().filter(|_| present.is_none()) {
                self.programs.push((agent.name.clone(), program.clone()));
            }
            match present {
                Some(present) if present != agent => self.bad.push(bad_file(
                    Path::new("agents").join(format!("{}.json", agent.name)),
                    format!(
                        "agent {} is already in the database with a different configuration",
                        present.name
                    ),
                )),
                _ => self.agents.push(agent),
            }
        }
        Ok(())
    }

    fn leave_out_tools(&mut self, view: &View<'_>) -> Result<()> {
        for tool in std::mem::take(&mut self.tools) {
            let (name, target) = (&tool.name, &tool.target_agent);
            let present = tool::find(view, name)?;
            let message = if present.is_some_and(|present| present != tool) {
                format!("tool {name} is already in the database with a different definition")
            } else if !self.agents.iter().any(|agent| agent.name == *target)
                && agent::find(view, target)?.is_none()
            {
                format!("target agent {target} is neither in the archive nor in the database")
            } else {
                self.tools.push(tool);
                continue;
            };
            let file = Path::new("tools").join(format!("{name}.json"));
            self.bad.push(bad_file(file, message));
        }
        Ok(())
    }

    fn leave_out_single_files(&mut self, view: &View<'_>) -> Result<()> {
        self.requests = absent::<Request>(&self.requests, &mut self.bad, |id| {
            let id = RequestId::parse(id).ok();
            id.map_or(Ok(false), |id| request::exists(view, &id))
        })?;
        self.alerts = absent::<Alert>(&self.alerts, &mut self.bad, |id| {
            let id = AlertId::parse(id).ok();
            id.map_or(Ok(false), |id| alert::exists(view, &id))
        })?;
        self.increments = absent::<Increment>(&self.increments, &mut self.bad, |id| {
            let id = IncrementId::parse(id).ok();
            id.map_or(Ok(false), |id| increment::exists(view, &id))
        })?;
        self.mail = absent::<Mail>(&self.mail, &mut self.bad, |id| {
            let id = MailId::parse(id).ok();
            id.map_or(Ok(false), |id| mail::exists(view, &id))
        })?;
        Ok(())
    }

    /// Skips the kind rules if the user has set different ones in the database. Default rules are replaced.
    fn leave_out_routes(&mut self, view: &View<'_>) -> Result<()> {
        if let Some(planned) = &self.routes
            && request::kind_rules::are_chosen(view)?
            && request::kind_rules::list(view)? != *planned
        {
            self.routes = None;
            let message = "the database has kind rules of its own";
            self.bad.push(bad_file(ROUTES.into(), message.to_owned()));
        }
        Ok(())
    }
}

impl Plan {
    /// Skips the events of no task that the database has, without a report: a second import of an archive must not add them again.
    fn leave_out_events(&mut self, view: &View<'_>) -> Result<()> {
        let key = |event: &Event| {
            let data = event.data.clone();
            (event.timestamp, event.event_type.as_str().to_owned(), data)
        };
        let mut present = HashSet::new();
        let mut last = 0;
        loop {
            let page = archive::events(view, last)?;
            let Some((number, _)) = page.last() else {
                break;
            };
            last = *number;
            present.extend(page.iter().map(|(_, event)| key(event)));
        }
        self.events.retain(|event| !present.contains(&key(event)));
        Ok(())
    }

    /// Skips the tags of requests and alerts that are not imported.
    fn leave_out_tags(&mut self) {
        let ids = |planned: &[Planned]| -> HashSet<String> {
            planned.iter().map(|item| item.id.clone()).collect()
        };
        let (requests, alerts) = (ids(&self.requests), ids(&self.alerts));
        let ledger = &mut self.ledger;
        ledger
            .tags
            .retain(|tag| requests.contains(tag.request_id.as_str()));
        ledger
            .alert_tags
            .retain(|tag| alerts.contains(tag.alert_id.as_str()));
    }
}

/// Finds a hand-off of a task that is in the database already.
fn known_handoff<'a>(view: &View<'_>, task: &'a PlannedTask) -> Result<Option<&'a HandoffId>> {
    for id in &task.handoffs {
        if handoff::exists(view, id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Finds a run of a task that is in the database already.
fn known_run<'a>(view: &View<'_>, task: &'a PlannedTask) -> Result<Option<&'a RunId>> {
    for id in &task.runs {
        if run::exists(view, id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Returns the planned items that are not in the database, and adds the others to `bad`.
fn absent<T: OneFile>(
    planned: &[Planned],
    bad: &mut Vec<BadFile>,
    is_present: impl Fn(&str) -> Result<bool>,
) -> Result<Vec<Planned>> {
    let mut absent = Vec::new();
    for item in planned {
        if is_present(&item.id)? {
            let message = format!("{} {} is already in the database", T::NOUN, item.id);
            bad.push(bad_file(file_of::<T>(&item.id), message));
        } else {
            absent.push(item.clone());
        }
    }
    Ok(absent)
}

fn bad_file(file: PathBuf, message: String) -> BadFile {
    BadFile {
        file,
        line: None,
        message,
    }
}
