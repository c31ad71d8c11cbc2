//! `chorus demo`.

use crate::support::{Chorus, invariants};

#[test]
fn the_demo_shows_every_kind_of_work_and_ends() {
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
            "qa",
            "sales",
            "pricing",
            "pricing",
            "scribe",
            "implementer",
            "tester",
            "fixer",
            "tester",
            "verifier",
            "publisher"
        ],
        "{stdout}"
    );
    assert!(stdout.contains("#token="), "{stdout}");
    for shown in [
        "Routed to pricing",
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
    assert_eq!((count("true"), count("outcome = 'completed'")), (17, 16));
    // Every part of the page has something to show.
    for (rows, at_least) in [
        ("tools", 1),
        ("sessions", 1),
        (
            "mail_recipients WHERE recipient = 'operator' AND read_at IS NULL",
            1,
        ),
        ("increments WHERE state = 'done' AND round = 2", 1),
        ("requests WHERE state = 'done'", 1),
        ("requests WHERE state = 'needs'", 1),
        ("alerts WHERE resolved_at IS NULL", 1),
        ("tasks WHERE failed_at IS NOT NULL", 1),
        ("tasks WHERE status = 'pending'", 1),
        ("tasks WHERE context <> '{}'", 1),
    ] {
        let query = format!("SELECT count(*) FROM {rows}");
        let found: i64 = connection.query_row(&query, [], |row| row.get(0)).unwrap();
        assert!(found >= at_least, "{rows}");
    }
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
