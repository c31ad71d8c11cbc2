//! Folders of attachments that no attachment uses: a killed upload or import left them behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Finding;
use crate::clock;
use crate::config::DataDir;
use crate::domain::AttachmentId;
use crate::engine::Engine;
use crate::ledger::task;
use crate::words::counted;

/// A younger folder may belong to an upload that is not recorded yet.
const UNRECORDED: Duration = Duration::from_hours(1);

/// The limit for the named folders.
const SHOWN: usize = 20;

pub(super) async fn check(
    data_dir: &DataDir,
    engine: &Engine,
) -> Result<Option<Finding>, crate::Error> {
    let old = old_folders(&data_dir.uploads());
    let unused = engine.read(move |view| {
        let mut unused = Vec::new();
        for (id, folder) in &old {
            if !task::uses_bytes(view, id)? {
                unused.push(folder.clone());
            }
        }
        Ok(unused)
    });
    let unused = unused.await?;
    if unused.is_empty() {
        return Ok(None);
    }
    let named: Vec<_> = unused.iter().take(SHOWN).collect();
    let named = named.iter().map(|folder| folder.display().to_string());
    let more = if unused.len() > SHOWN { ", …" } else { "" };
    Ok(Some(Finding::Note(format!(
        "no attachment uses {}: {}{more}\n      to do: delete them while no import runs",
        counted(unused.len(), "folder"),
        named.collect::<Vec<_>>().join(", "),
    ))))
}

/// Lists the folders `TASK/ID` that were changed longer than [`UNRECORDED`] ago, by name. Unreadable ones are left out.
fn old_folders(uploads: &Path) -> Vec<(AttachmentId, PathBuf)> {
    let now = clock::system_time();
    let is_old = |folder: &Path| {
        let changed = folder.symlink_metadata();
        let changed = changed
            .ok()
            .filter(std::fs::Metadata::is_dir)
            .and_then(|changed| changed.modified().ok());
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        age.is_some_and(|age| age > UNRECORDED)
    };
    let of_tasks = folders_in(uploads);
    let mut old: Vec<_> = of_tasks
        .iter()
        .flat_map(|of_task| folders_in(of_task))
        .filter(|folder| is_old(folder))
        .filter_map(|folder| {
            let id = AttachmentId::parse(folder.file_name()?.to_str()?).ok()?;
            Some((id, folder))
        })
        .collect();
    old.sort_unstable_by(|(_, left), (_, right)| left.cmp(right));
    old
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|found| found.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
