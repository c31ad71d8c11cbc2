//! Translates working directories between an archive and an installation.
//!
//! A workspace below the server's own folder of workspaces is `workspaces/…` in an archive. Archives of earlier versions have absolute
//! paths; there, the id of a task after a folder `workspaces` shows such a workspace.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::domain::{TaskId, Text};
use crate::runner::Workspaces;

const FOLDER: &str = "workspaces";

/// Returns the form of a workspace in an archive. `own` is the server's folder of workspaces.
pub(super) fn archived(own: &Path, workspace: &Text) -> Text {
    let below = Path::new(workspace.as_str()).strip_prefix(own);
    let below = below.ok().filter(|below| *below != Path::new(""));
    let archived = below.map(|below| Path::new(FOLDER).join(below));
    text(archived).unwrap_or_else(|| workspace.clone())
}

/// The working directories of an archive.
#[derive(Clone)]
pub(super) struct Places {
    workspaces: Workspaces,
    /// The ids of the tasks in the archive that are UUIDs, which an earlier version chose itself.
    ids: Arc<HashSet<String>>,
}

impl Places {
    pub fn new<'a>(workspaces: Workspaces, ids: impl Iterator<Item = &'a TaskId>) -> Self {
        let ids = ids.map(TaskId::as_str);
        let ids = ids.filter(|id| uuid::Uuid::try_parse(id).is_ok());
        Self {
            workspaces,
            ids: Arc::new(ids.map(str::to_owned).collect()),
        }
    }

    /// Returns the place of an archived workspace in this installation.
    pub fn place(&self, archived: &Text) -> Text {
        let path = Path::new(archived.as_str());
        let below = match path.strip_prefix(FOLDER) {
            Ok(below) => Some(below.to_owned()),
            Err(_) if path.is_absolute() => self.below_foreign_folder(path),
            Err(_) => None,
        };
        let is_plain = |below: &PathBuf| {
            let mut steps = below.components();
            *below != Path::new("") && steps.all(|step| matches!(step, Component::Normal(_)))
        };
        let placed = below.filter(is_plain);
        let placed = placed.map(|below| self.workspaces.folder().join(below));
        text(placed).unwrap_or_else(|| archived.clone())
    }

    fn below_foreign_folder(&self, path: &Path) -> Option<PathBuf> {
        let steps: Vec<_> = path.components().collect();
        let place = steps.windows(2).position(|pair| {
            pair[0].as_os_str() == FOLDER
                && pair[1]
                    .as_os_str()
                    .to_str()
                    .is_some_and(|id| self.ids.contains(id))
        })?;
        Some(steps[place + 1..].iter().collect())
    }

    /// Describes why no agent can work in a workspace, if that is so.
    pub fn problem(&self, workspace: &Text) -> Option<String> {
        let found = self.workspaces.find(Path::new(workspace.as_str()));
        found.err().map(|problem| problem.to_string())
    }
}

fn text(path: Option<PathBuf>) -> Option<Text> {
    path?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DataDir;

    const ID: &str = "0198f3c0-aaaa-7000-8000-000000000000";

    #[test]
    fn a_workspace_of_another_installation_becomes_one_of_this() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = DataDir::prepare(&folder.path().join("data")).unwrap();
        let own = data_dir.workspaces();
        let ids = [TaskId::parse(ID).unwrap(), TaskId::parse("7").unwrap()];
        let places = Places::new(Workspaces::new(data_dir, None), ids.iter());
        let text = |text: &str| -> Text { text.parse().unwrap() };
        for (archived, below) in [
            (format!("workspaces/{ID}"), ID.to_owned()),
            ("workspaces/7/sub".to_owned(), "7/sub".to_owned()),
            (format!("/old/data/workspaces/{ID}"), ID.to_owned()),
            (
                format!("/workspaces/data/workspaces/{ID}/sub"),
                format!("{ID}/sub"),
            ),
        ] {
            let here = places.place(&text(&archived));
            assert_eq!(Path::new(here.as_str()), own.join(&below), "{archived}");
            let again = super::archived(&own, &here);
            assert_eq!(again.as_str(), format!("workspaces/{below}"));
        }
        for kept in [
            "/home/me/project",
            "/old/workspaces/7",
            "/old/workspaces/0198f3c0-aaaa-7000-8000-000000000001",
            "workspaces",
            "workspaces/",
            "workspaces/../runs",
            "workspaces/a/../../../etc",
            "elsewhere/x",
            "",
        ] {
            assert_eq!(places.place(&text(kept)).as_str(), kept);
            assert!(places.problem(&text(kept)).is_some(), "{kept}");
        }
        let outside = text(folder.path().to_str().unwrap());
        assert_eq!(places.problem(&outside), None);
        assert_eq!(super::archived(&own, &outside), outside);
    }
}
