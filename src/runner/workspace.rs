//! The places in which agents may work.
//!
//! A path is checked when a task is created, and again when a run starts, because directories and symbolic links change in between.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use crate::config::DataDir;
use crate::supervisor::may_pass;

/// The rules for the working directories of agents.
#[derive(Debug, Clone)]
pub struct Workspaces {
    data_dir: DataDir,
    root: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceProblem {
    #[error("must be an absolute path")]
    Relative,
    #[error("must not contain `..`")]
    ParentDir,
    #[error("cannot be resolved: {0}")]
    Unresolved(std::io::Error),
    #[error("is a file, not a directory")]
    File,
    #[error("must be inside the workspace root {}", .0.display())]
    OutsideRoot(PathBuf),
    #[error("must not be the root directory")]
    Everything,
    #[error("must not be in /proc, which leads to the files of other processes")]
    Proc,
    #[error("must not be in the data directory, except in a folder of {}", .0.display())]
    DataDir(PathBuf),
    #[error("does not exist, or is not a directory")]
    Missing,
    #[error("cannot be created: {0}")]
    NotCreated(std::io::Error),
}

impl WorkspaceProblem {
    /// Whether the system only lacked something.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unresolved(error) | Self::NotCreated(error) => may_pass(error),
            _ => false,
        }
    }
}

impl Workspaces {
    /// Creates the rules. All requested workspaces must be inside `root`, if there is one.
    pub fn new(data_dir: DataDir, root: Option<PathBuf>) -> Self {
        Self { data_dir, root }
    }

    /// Checks a requested workspace, which need not exist yet, and resolves its symbolic links.
    pub fn resolve(&self, asked: &Path) -> Result<PathBuf, WorkspaceProblem> {
        let resolved = self.resolve_allowed(asked)?;
        if resolved.exists() && !resolved.is_dir() {
            return Err(WorkspaceProblem::File);
        }
        self.check_root(&resolved)?;
        Ok(resolved)
    }

    /// Returns the folder of the default workspaces.
    pub fn folder(&self) -> PathBuf {
        self.data_dir.workspaces()
    }

    /// Checks that agents could work in a workspace now. A default workspace need not exist.
    pub fn find(&self, workspace: &Path) -> Result<(), WorkspaceProblem> {
        let resolved = self.resolve_allowed(workspace)?;
        if resolved.starts_with(self.data_dir.workspaces()) {
            return Ok(());
        }
        self.check_root(&resolved)?;
        if resolved.is_dir() {
            Ok(())
        } else {
            Err(WorkspaceProblem::Missing)
        }
    }

    /// Checks the workspace of a run that is about to start, and returns its place. Creates a default workspace.
    pub fn enter(&self, workspace: &Path) -> Result<PathBuf, WorkspaceProblem> {
        let resolved = self.resolve_allowed(workspace)?;
        if resolved.starts_with(self.data_dir.workspaces()) {
            std::fs::create_dir_all(&resolved).map_err(WorkspaceProblem::NotCreated)?;
        } else {
            self.check_root(&resolved)?;
        }
        let found = resolved.metadata().map_err(|_| WorkspaceProblem::Missing)?;
        if !found.is_dir() {
            return Err(WorkspaceProblem::Missing);
        }
        if statfs(&resolved).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC) {
            return Err(WorkspaceProblem::Proc);
        }
        // The data directory may have a second name, by a bind mount.
        let is_data_dir =
            |data: std::fs::Metadata| (data.dev(), data.ino()) == (found.dev(), found.ino());
        if self.data_dir.path().metadata().is_ok_and(is_data_dir) {
            return Err(WorkspaceProblem::DataDir(self.data_dir.workspaces()));
        }
        Ok(resolved)
    }

    /// Resolves a path, and refuses the places in which no agent may work. A directory that contains the data directory is allowed.
    fn resolve_allowed(&self, asked: &Path) -> Result<PathBuf, WorkspaceProblem> {
        if !asked.is_absolute() {
            return Err(WorkspaceProblem::Relative);
        }
        if asked
            .components()
            .any(|component| component == Component::ParentDir)
        {
            return Err(WorkspaceProblem::ParentDir);
        }
        if asked.starts_with("/proc") {
            return Err(WorkspaceProblem::Proc);
        }
        let resolved = resolve(asked).map_err(WorkspaceProblem::Unresolved)?;
        let workspaces = self.data_dir.workspaces();
        if resolved == Path::new("/") {
            Err(WorkspaceProblem::Everything)
        } else if resolved.starts_with("/proc") {
            Err(WorkspaceProblem::Proc)
        } else if resolved == workspaces
            || resolved.starts_with(self.data_dir.path()) && !resolved.starts_with(&workspaces)
        {
            Err(WorkspaceProblem::DataDir(workspaces))
        } else {
            Ok(resolved)
        }
    }

    fn check_root(&self, resolved: &Path) -> Result<(), WorkspaceProblem> {
        match &self.root {
            Some(root) if !resolved.starts_with(root) => {
                Err(WorkspaceProblem::OutsideRoot(root.clone()))
            }
            _ => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(folder: &Path) -> Workspaces {
        let data_dir = DataDir::prepare(&folder.join("data")).unwrap();
        Workspaces::new(data_dir, None)
    }

    #[test]
    fn forbidden_places_are_refused_at_every_check_also_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let rules = rules(&path);
        let link = |name: &str, target: &Path| {
            std::os::unix::fs::symlink(target, path.join(name)).unwrap();
            path.join(name)
        };
        for forbidden in [
            "/".into(),
            "/proc".into(),
            "/proc/self/root".into(),
            "/proc/self/root/proc/1".into(),
            "/proc/1/cwd/no/such".into(),
            path.join("data"),
            path.join("data/workspaces"),
            path.join("data/runs/new"),
            link("to-root", Path::new("/")),
            link("to-proc", Path::new("/proc/self/root")),
            link("to-data", &path.join("data")),
            path.join("to-data/runs"),
            path.join("x/../data"),
        ] {
            let places: [Result<(), WorkspaceProblem>; 3] = [
                rules.resolve(&forbidden).map(drop),
                rules.enter(&forbidden).map(drop),
                rules.find(&forbidden),
            ];
            for (check, result) in places.into_iter().enumerate() {
                assert!(result.is_err(), "{check} {}", forbidden.display());
            }
        }
    }

    #[test]
    fn a_workspace_is_checked_again_when_a_run_starts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let rules = rules(&path);
        let workspace = path.join("work");
        assert_eq!(rules.resolve(&workspace).unwrap(), workspace);
        assert!(matches!(
            rules.enter(&workspace),
            Err(WorkspaceProblem::Missing)
        ));
        std::fs::write(&workspace, "").unwrap();
        assert!(matches!(
            rules.enter(&workspace),
            Err(WorkspaceProblem::Missing)
        ));
        std::fs::remove_file(&workspace).unwrap();
        std::os::unix::fs::symlink(path.join("data"), &workspace).unwrap();
        assert!(matches!(
            rules.enter(&workspace),
            Err(WorkspaceProblem::DataDir(_))
        ));
        // The folder that holds the data directory is a normal place to work in.
        assert_eq!(rules.enter(&path).unwrap(), path);
        let own = path.join("data/workspaces/task");
        assert_eq!(rules.enter(&own).unwrap(), own);
        assert!(own.is_dir());
    }

    #[test]
    fn the_root_holds_for_every_workspace_but_the_default_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let data_dir = DataDir::prepare(&path.join("data")).unwrap();
        let root = path.join("root");
        std::fs::create_dir(&root).unwrap();
        let rules = Workspaces::new(data_dir, Some(root.clone()));
        assert!(rules.resolve(&path).is_err() && rules.enter(&path).is_err());
        assert!(rules.resolve(&root.join("a")).is_ok() && rules.enter(&root).is_ok());
        std::os::unix::fs::symlink(&path, root.join("out")).unwrap();
        assert!(rules.enter(&root.join("out")).is_err());
        assert!(rules.enter(&path.join("data/workspaces/task")).is_ok());
    }
}
