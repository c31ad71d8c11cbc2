//! Determines the working directory of a task's agents.

use std::path::{Component, Path, PathBuf};

use super::{Engine, Result};
use crate::domain::{TaskId, Text};
use crate::error::Error;

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
        text(&self.resolve_workspace(Path::new(asked.as_str()))?)
    }

    fn resolve_workspace(&self, asked: &Path) -> Result<PathBuf> {
        let illegal = |why: &str| Error::InvalidBody(format!("agentWorkspace: {why}"));
        if !asked.is_absolute() {
            return Err(illegal("must be an absolute path"));
        }
        if asked
            .components()
            .any(|component| component == Component::ParentDir)
        {
            return Err(illegal("must not contain `..`"));
        }
        let resolved =
            resolve(asked).map_err(|error| illegal(&format!("cannot be resolved: {error}")))?;
        if resolved.exists() && !resolved.is_dir() {
            return Err(illegal("is a file, not a directory"));
        }
        match &self.options.workspace_root {
            Some(root) if !resolved.starts_with(root) => Err(illegal(&format!(
                "must be inside the workspace root {}",
                root.display()
            ))),
            _ => Ok(resolved),
        }
    }
}

fn text(path: &Path) -> Result<Text> {
    path.to_str()
        .and_then(|path| path.parse().ok())
        .ok_or_else(|| Error::internal("the data directory's path is not UTF-8"))
}

/// Resolves the symbolic links in the existing part of a path.
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    for ancestor in path.ancestors() {
        if ancestor.symlink_metadata().is_ok() {
            let rest = path
                .strip_prefix(ancestor)
                .expect("an ancestor is a prefix");
            // Components, because joining an empty rest would leave a slash at the end.
            return Ok(ancestor.canonicalize()?.join(rest).components().collect());
        }
    }
    Ok(path.to_owned())
}
