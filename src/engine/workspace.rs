//! Determines the working directory of a task's agents.

use std::path::Path;

use super::{Engine, Result};
use crate::domain::{Caller, TaskId, Text};
use crate::error::Error;
use crate::ledger::rights;
use crate::runner::Workspaces;

impl Engine {
    /// Returns the requested working directory, or a new one below the data directory.
    pub(super) fn workspace(&self, id: &TaskId, asked: Option<&Text>) -> Result<Text> {
        let path = match asked {
            None => self.options.data_dir.workspaces().join(id.as_str()),
            Some(asked) => return self.requested_workspace(asked),
        };
        text(&path)
    }

    /// Checks and resolves a requested working directory.
    pub(super) fn requested_workspace(&self, asked: &Text) -> Result<Text> {
        let resolved = self.workspaces().resolve(Path::new(asked.as_str()));
        let resolved =
            resolved.map_err(|problem| Error::InvalidBody(format!("agentWorkspace: {problem}")))?;
        text(&resolved)
    }

    /// Refuses a workspace that the caller may not choose. The new workspace of a new task is always allowed.
    pub(super) async fn check_reach(
        &self,
        caller: &Caller,
        id: &TaskId,
        workspace: &Text,
    ) -> Result<()> {
        let Some(run) = caller.run().cloned() else {
            return Ok(());
        };
        if *workspace == self.workspace(id, None)? {
            return Ok(());
        }
        let (workspace, hidden) = (workspace.clone(), self.options.data_dir.workspaces());
        self.read(move |view| rights::may_work_in(view, &run, &workspace, &hidden))
            .await
    }

    pub(super) fn workspaces(&self) -> Workspaces {
        let options = &self.options;
        Workspaces::new(options.data_dir.clone(), options.workspace_root.clone())
    }
}

fn text(path: &Path) -> Result<Text> {
    path.to_str()
        .and_then(|path| path.parse().ok())
        .ok_or_else(|| Error::internal("the data directory's path is not UTF-8"))
}
