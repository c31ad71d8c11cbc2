//! The data directory is for its owner alone, whoever created it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Chorus, Server};

const PARTS: [&str; 5] = [
    "",
    "chorus.db",
    "chorus.db-wal",
    "chorus.db-shm",
    "chorus.lock",
];

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn modes(data_dir: &Path) -> Vec<String> {
    let mode = |name: &&str| {
        let found = data_dir.join(name).metadata().unwrap();
        format!("{:o}", found.permissions().mode() & 0o7777)
    };
    PARTS.iter().map(mode).collect()
}

#[test]
fn a_directory_that_existed_before_is_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    std::fs::create_dir(&data_dir).unwrap();
    set_mode(&data_dir, 0o755);
    let server = Server::start(&data_dir);
    assert_eq!(modes(&data_dir), ["700", "600", "600", "600", "600"]);
    // The same for what an earlier version left open.
    server.kill();
    for (name, mode) in PARTS.iter().zip([0o755, 0o644, 0o644, 0o644, 0o644]) {
        set_mode(&data_dir.join(name), mode);
    }
    let server = Server::start(&data_dir);
    assert_eq!(modes(&data_dir), ["700", "600", "600", "600", "600"]);
    let copy = folder.path().join("copy.db");
    let backup = server.chorus(["backup"]).argument(&copy).output();
    assert!(backup.status.success());
    assert_eq!(
        copy.metadata().unwrap().permissions().mode() & 0o7777,
        0o600
    );
}

#[test]
fn a_directory_that_others_use_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    set_mode(folder.path(), 0o755);
    let migrated = Chorus::new(["migrate"])
        .env("CHORUS_DATA_DIR", folder.path())
        .output();
    assert!(migrated.status.success());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(folder.path()), 0o755);
    assert_eq!(mode(&folder.path().join("chorus.db")), 0o600);
}
