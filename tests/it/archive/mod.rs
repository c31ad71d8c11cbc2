//! Export and import: an export, its import and the export of that are identical, and bad files are reported.

mod mail;
mod requests;
mod routing;
mod tasks;

use std::path::Path;
use std::process::Command;

use chorus::engine::archive::{ArchiveError, ImportOptions, ImportReport};
use tempfile::TempDir;

use crate::support::TestApp;

pub async fn export(app: &TestApp) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive");
    app.engine.export(&archive, |_| {}).await.unwrap();
    (folder, archive)
}

/// Makes an installation that has never been served, so that no agents were seeded.
pub async fn bare() -> TestApp {
    TestApp::unseeded().await
}

pub async fn import(
    app: &TestApp,
    archive: &Path,
    skip_bad: bool,
) -> Result<ImportReport, ArchiveError> {
    app.engine
        .import(archive, ImportOptions { skip_bad }, |_| {})
        .await
}

/// Fails unless two directories hold the same files with the same bytes.
pub fn assert_same(left: &Path, right: &Path) {
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
