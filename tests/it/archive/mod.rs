//! Export and import: an archive that is imported and exported again is identical, and bad files are reported.

mod agents;
mod contradictions;
mod mail;
mod odd_files;
mod places;
mod private;
mod requests;
mod routing;
mod runs;
mod starts;
mod tables;
mod tasks;

use std::path::Path;
use std::process::Command;

use chorus::engine::archive::{ArchiveError, ExportOptions, ImportOptions, ImportReport};
use tempfile::TempDir;

use crate::support::TestApp;

/// Exports an archive into a folder that lives as long as the returned guard.
pub async fn export(app: &TestApp) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive");
    app.engine
        .export(&archive, ExportOptions::default(), |_| {})
        .await
        .unwrap();
    (folder, archive)
}

/// Imports an archive, without its bad files if `skip_bad`.
pub async fn import(
    app: &TestApp,
    archive: &Path,
    skip_bad: bool,
) -> Result<ImportReport, ArchiveError> {
    app.engine
        .import(archive, ImportOptions { skip_bad }, |_| {})
        .await
}

/// Fails unless two folders hold the same files with the same bytes.
pub fn assert_same_files(left: &Path, right: &Path) {
    let output = Command::new("diff")
        .arg("-r")
        .args([left, right])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
