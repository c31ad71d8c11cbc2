//! `chorus demo`.

use crate::support::{Chorus, invariants};

#[test]
fn the_demo_runs_a_whole_chain_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("demo");
    let output = Chorus::new(["demo", "--once", "--pace", "0", "--data-dir"])
        .argument(&data_dir)
        .current_dir(folder.path())
        .output();
    let (stdout, stderr) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    // The agents in the order of their hand-offs.
    let started: Vec<_> = stdout
        .lines()
        .filter_map(|line| line.strip_suffix(" starts"))
        .map(|line| line.split_whitespace().last().unwrap())
        .collect();
    assert_eq!(
        started,
        [
            "orchestrator",
            "planner",
            "developer",
            "developer-review",
            "developer",
            "developer-review",
            "qa"
        ],
        "{stdout}"
    );
    for shown in [
        "CHANGES REQUESTED",
        "APPROVED",
        "PASSED",
        "Look around:",
        "sqlite3",
    ] {
        assert!(stdout.contains(shown), "{shown}: {stdout}");
    }
    let database = data_dir.join("chorus.db");
    invariants::assert_hold(&database);
    let connection = invariants::open(&database);
    let count = |what: &str| -> i64 {
        let query = format!("SELECT count(*) FROM handoffs WHERE {what}");
        connection.query_row(&query, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("true"), count("outcome = 'completed'")), (7, 7));
}

#[test]
fn the_demo_deletes_its_temporary_data() {
    let folder = tempfile::tempdir().unwrap();
    let output = Chorus::new(["demo", "--once", "--pace", "0"])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .output();
    assert!(output.status.success(), "{output:?}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
