//! Skips the parts of an archive that are already in the database.

use std::path::{Path, PathBuf};

use super::ROUTES;
use super::one_file::{OneFile, Planned, file_of};
use super::plan::Plan;
use super::reader::BadFile;
use super::task_files::task_folder;
use crate::domain::{Alert, AlertId, Increment, IncrementId, Mail, MailId, Request, RequestId};
use crate::ledger::{Result, View, agent, alert, increment, mail, request, session, task, tool};

impl Plan {
    /// Moves all items that are already in the database from the plan to its bad files.
    pub fn leave_out_present(&mut self, view: &View<'_>) -> Result<()> {
        self.leave_out_tasks(view)?;
        self.leave_out_agents(view)?;
        self.leave_out_tools(view)?;
        self.leave_out_single_files(view)?;
        self.leave_out_routes(view)
    }

    fn leave_out_tasks(&mut self, view: &View<'_>) -> Result<()> {
        for task in std::mem::take(&mut self.tasks) {
            let message = if task::exists(view, &task.id)? {
                format!("task {} is already in the database", task.id)
            } else if let Some(session) = &task.session
                && session::exists(view, session)?
            {
                format!("session {session} is already in the database")
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
            match agent::find(view, &agent.name)? {
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
