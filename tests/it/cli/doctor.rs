//! `chorus doctor`

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::support::{Chorus, Server};

/// Makes a folder with a program that is called as Claude Code is.
fn programs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("claude");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Redacts the output, and the number of migrations, which grows.
fn redact(transcript: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let count = folder.read_dir().unwrap().count();
    crate::support::redact(transcript).replace(&format!("({count} migrations)"), "(all migrations)")
}

/// Looks at a data directory whose server does not run.
fn doctor(data_dir: &Path, path: &str) -> String {
    let data_dir = data_dir.to_str().unwrap();
    let nobody = "http://127.0.0.1:1";
    let command = Chorus::new(["doctor", "--data-dir", data_dir, "--url", nobody]);
    redact(&command.env("PATH", path).transcript())
}

/// Makes an installation, stops its server, and opens its database.
fn installation() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    assert!(Server::start(folder.path()).stop().success());
    let database = Connection::open(folder.path().join("chorus.db")).unwrap();
    (folder, database)
}

#[test]
fn a_good_installation_has_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let programs = programs();
    let command = server.chorus(["doctor"]).env("PATH", programs.path());
    assert_snapshot!(redact(&command.transcript()), @"
    exit 0
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    ok    the database is up to date (all migrations)
    ok    the database is sound
    ok    the clock is not behind the newest event
    ok    <tmp>/claude runs developer, developer-review, fixing-specialist, implementation-specialist, orchestrator, planner, qa, testing-specialist, verification-specialist
    ok    a server answers at http://<server> and can write
    --- stderr
    ");
}

#[test]
fn missing_programs_and_a_missing_database_are_noted() {
    let (folder, _) = installation();
    assert_snapshot!(doctor(folder.path(), ""), @"
    exit 0
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    ok    the database is up to date (all migrations)
    ok    the database is sound
    ok    the clock is not behind the newest event
    note  the program claude is not on PATH; developer, developer-review, fixing-specialist, implementation-specialist, orchestrator, planner, qa, testing-specialist, verification-specialist cannot run until it is installed
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    ");
    let empty = tempfile::tempdir().unwrap();
    assert_snapshot!(doctor(empty.path(), ""), @"
    exit 0
    --- stdout
    note  no Chorus database in <tmp>; start `chorus serve` to create one
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    ");
}

#[test]
fn every_active_alert_is_noted() {
    let (folder, database) = installation();
    let alert = "INSERT INTO alerts (id, raised_at, raised_by, resolved_at, resolved_by, message) VALUES ($1, 0, 'qa', $2, $3, $4)";
    let long = "x".repeat(600);
    for (id, resolved, message) in [
        ("a", false, "The key\n\u{1b}[2Jhas expired"),
        ("b", true, "No more"),
        ("c", false, &long),
    ] {
        let by = resolved.then_some("me");
        let values = rusqlite::params![id, resolved.then_some(1), by, message];
        database.execute(alert, values).unwrap();
    }
    let seen = doctor(folder.path(), "");
    let alerts: Vec<_> = seen
        .lines()
        .skip_while(|line| !line.contains("alert"))
        .take(4)
        .collect();
    let alerts = alerts.join("\n").replace(&"x".repeat(500), "<500 times x>");
    assert_snapshot!(alerts, @"
    note  alert by qa, 1970-01-01 00:00:00: The key �[2Jhas expired
          to do: deal with it, then chorus alert resolve a
    note  alert by qa, 1970-01-01 00:00:00: <500 times x>…
          to do: deal with it, then chorus alert resolve c
    ");
    assert!(
        seen.starts_with("exit 0") && !seen.contains("No more"),
        "{seen}"
    );
}

#[test]
fn a_token_that_others_can_read_is_a_problem() {
    let (folder, _) = installation();
    let token = folder.path().join("operator.token");
    std::fs::set_permissions(token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_snapshot!(doctor(folder.path(), programs().path().to_str().unwrap()), @"
    exit 1
    --- stdout
    ok    data directory <tmp> is writable
    bad   others can read the operator's token in <tmp>/operator.token
          to do: chmod 600 <tmp>/operator.token
    ok    the database is up to date (all migrations)
    ok    the database is sound
    ok    the clock is not behind the newest event
    ok    <tmp>/claude runs developer, developer-review, fixing-specialist, implementation-specialist, orchestrator, planner, qa, testing-specialist, verification-specialist
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    error: 1 problem found
    ");
}

#[test]
fn a_database_that_is_not_ours_is_a_problem() {
    let (folder, database) = installation();
    drop(database);
    std::fs::write(
        folder.path().join("chorus.db"),
        "not a database ".repeat(100),
    )
    .unwrap();
    assert_snapshot!(doctor(folder.path(), ""), @"
    exit 1
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    bad   cannot open the database <tmp>/chorus.db: while executing migrations: error returned from database: (code: 26) file is not a database
          to do: check that the file is a Chorus database, or restore a backup
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    error: 1 problem found
    ");
}

#[test]
fn a_database_of_another_version_is_a_problem() {
    let (folder, database) = installation();
    database
        .execute(
            "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1",
            [],
        )
        .unwrap();
    assert_snapshot!(doctor(folder.path(), ""), @"
    exit 1
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    bad   an applied migration differs from the one in this version of Chorus
          to do: use the version that wrote the database, or restore a backup
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    error: 1 problem found
    ");
    database
        .execute("DELETE FROM _sqlx_migrations", [])
        .unwrap();
    assert_snapshot!(doctor(folder.path(), ""), @"
    exit 1
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    bad   an older version of Chorus wrote the database
          to do: migrate it with chorus migrate
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    error: 1 problem found
    ");
}

#[test]
fn a_database_that_breaks_its_rules_is_a_problem() {
    let (folder, database) = installation();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    let orphan = "INSERT INTO queue_messages (id, task_number, received_at, content) VALUES ('m', 99, 0, 'c')";
    database.execute(orphan, []).unwrap();
    assert_snapshot!(doctor(folder.path(), programs().path().to_str().unwrap()), @"
    exit 1
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    ok    the database is up to date (all migrations)
    bad   a row of queue_messages refers to a missing row of tasks
          to do: stop the server and restore a backup
    ok    the clock is not behind the newest event
    ok    <tmp>/claude runs developer, developer-review, fixing-specialist, implementation-specialist, orchestrator, planner, qa, testing-specialist, verification-specialist
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    error: 1 problem found
    ");
}

#[test]
fn a_clock_that_went_back_is_a_problem() {
    let (folder, database) = installation();
    let future = "INSERT INTO events (occurred_at, type, data) VALUES (99999999999999, 'x', '{}')";
    database.execute(future, []).unwrap();
    assert_snapshot!(doctor(folder.path(), programs().path().to_str().unwrap()), @"
    exit 1
    --- stdout
    ok    data directory <tmp> is writable
    ok    only you can read the operator's token
    ok    the database is up to date (all migrations)
    ok    the database is sound
    bad   the newest event is in the future: the clock of this machine went back
          to do: set the clock, for example with a time service
    ok    <tmp>/claude runs developer, developer-review, fixing-specialist, implementation-specialist, orchestrator, planner, qa, testing-specialist, verification-specialist
    note  cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    --- stderr
    error: 1 problem found
    ");
}

#[test]
fn held_and_blocked_work_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let make = |arguments: &[&str]| {
        let made = server.chorus(arguments.iter().copied()).output();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let lost = make(&["task", "create", "Lost", "--agent-role", "knitting"]);
    make(&["task", "route", &lost]);
    let blocked = make(&["task", "create", "Blocked"]);
    let increment = make(&["increment", "create", "Read \"dates\""]);
    assert!(server.stop().success());
    let database = Connection::open(folder.path().join("chorus.db")).unwrap();
    let block = "UPDATE tasks SET is_blocked = 1, waiting_reason = $1 WHERE id = $2";
    let long = format!("\u{1b}[2J{}", "x".repeat(600));
    database
        .execute(block, rusqlite::params![long, blocked])
        .unwrap();
    let block =
        "UPDATE increments SET state = 'blocked', blocked_by = 'Which\ncalendar?' WHERE id = $1";
    database.execute(block, [increment]).unwrap();
    let seen = doctor(folder.path(), "");
    let held: Vec<_> = seen
        .lines()
        .skip_while(|line| !line.starts_with("note  task"))
        .take(6)
        .collect();
    let held = held.join("\n").replace(&"x".repeat(496), "<496 times x>");
    assert_snapshot!(held, @r#"
    note  task <id 1> waits for an agent: No available agent has the role knitting
          to do: read the reasons with chorus task route <id 1> --dry-run; give an agent the role, or change the task with chorus task edit <id 1> --agent-role ROLE
    note  task <id 2> is blocked: �[2J<496 times x>…
          to do: read chorus task show <id 2> --full; then continue with chorus task status <id 2> pending, or end it with completed or failed
    note  increment <id 3> is blocked (Read "dates"): Which calendar?
          to do: read chorus increment show <id 3>; then continue with chorus increment retry <id 3>
    "#);
    assert!(seen.starts_with("exit 0"), "{seen}");
}

#[test]
fn failed_requests_and_kinds_without_a_rule_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let run = |arguments: &[&str]| {
        let output = server.chorus(arguments.iter().copied()).output();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let failed = run(&["request", "create", "Fix\tthe lock", "--kind", "fix"]);
    run(&["request", "next", &failed]);
    run(&["request", "claim", &failed, "--as", "worker"]);
    run(&[
        "request",
        "requeue",
        &failed,
        "The key\nhas \u{1b}[2Jexpired",
    ]);
    run(&["request", "create", "A scarf", "--kind", "knitting"]);
    let released = run(&["request", "create", "Two", "--kind", "fix"]);
    run(&["request", "next", &released]);
    assert!(server.stop().success());
    let seen = doctor(folder.path(), "");
    let notes: Vec<_> = seen
        .lines()
        .skip_while(|line| !line.contains("request"))
        .take_while(|line| !line.contains("the program"))
        .collect();
    assert_snapshot!(notes.join("\n"), @"
    note  1 request of kind knitting will not start. Kind knitting has no rule. Add one with `chorus request kinds --set FILE` or PUT /api/dispatch/routes
    note  request <id 1> has failed (The key has �[2Jexpired): Fix the lock
          to do: read chorus request show <id 1>; if it is in needs, chorus request approve <id 1>
    note  2 requests wait for a decision; see chorus request list --state needs
    note  1 request waits for a claim; see chorus request list --state next
    ");
    assert!(seen.starts_with("exit 0"), "{seen}");
}

#[test]
fn a_data_directory_that_others_can_open_is_a_problem() {
    let (folder, _) = installation();
    let set_mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path(), mode).unwrap();
    };
    // A directory with the sticky bit is shared, so its mode is left alone.
    set_mode(0o1777);
    let told = doctor(folder.path(), "");
    assert!(
        told.contains("bad   others can open <tmp>\n      to do: chmod go-rwx <tmp>\n"),
        "{told}"
    );
    set_mode(0o755);
    let told = doctor(folder.path(), "");
    assert!(!told.contains("others can open"), "{told}");
}

#[test]
fn agents_that_cannot_run_or_may_do_more_than_it_seems_are_named() {
    let (folder, database) = installation();
    let programs = programs();
    let claude = programs.path().join("claude");
    // Not logged in.
    std::fs::write(&claude, "#!/bin/sh\n[ \"$1\" != auth ]\n").unwrap();
    database
        .execute_batch(
            "DELETE FROM agents WHERE name NOT IN ('qa', 'planner');
             UPDATE agents SET permission_mode = 'bypassPermissions' WHERE name = 'planner';
             UPDATE agents SET provider = 'codex', allowed_tools = 'Bash(git *)' WHERE name = 'qa';
             DELETE FROM dispatch_routes;",
        )
        .unwrap();
    drop(database);
    let data_dir = folder.path().to_str().unwrap();
    let command = Chorus::new([
        "doctor",
        "--data-dir",
        data_dir,
        "--url",
        "http://127.0.0.1:1",
    ]);
    let command = command
        .env("PATH", programs.path().to_str().unwrap())
        // The checks for root are left out.
        .env("IS_SANDBOX", "1");
    let said = redact(&command.transcript());
    for line in [
        "bad   agent qa cannot run: allowedTools: codex cannot limit an agent to certain commands, because its sandbox limits the effects of all commands; add Bash, or use another provider\n      to do: change it with chorus agent edit qa\n",
        "note  agent planner may run every command: with bypassPermissions, the commands in its allowedTools limit nothing\n      to do: change its permissionMode, for example to acceptEdits\n",
        "claude is not logged in for this user\n      to do: start it and follow /login, unless ANTHROPIC_API_KEY is set",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn folders_that_no_attachment_uses_are_noted_unless_they_are_new() {
    let (folder, database) = installation();
    database
        .execute_batch(
            "INSERT INTO tasks (number, id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description)
             VALUES (1, 'task', 'active', 1, 2, 'api', 'me', '/tmp', 'd');
             INSERT INTO attachments (id, task_number, filename, size, content_type, uploaded_at)
             VALUES ('used', 1, 'a', 1, 'text/plain', 3);",
        )
        .unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_hours(24);
    for (name, is_old) in [("used", true), ("left", true), ("new", false)] {
        let upload = folder.path().join("uploads/task").join(name);
        std::fs::create_dir_all(&upload).unwrap();
        if is_old {
            let opened = std::fs::File::open(&upload).unwrap();
            opened.set_modified(long_ago).unwrap();
        }
    }
    let seen = doctor(folder.path(), "");
    let notes: Vec<_> = seen
        .lines()
        .skip_while(|line| !line.contains("uses"))
        .take(2)
        .collect();
    assert_snapshot!(notes.join("\n"), @"
    note  no attachment uses 1 folder: <tmp>/uploads/task/left
          to do: delete them while no import runs
    ");
    assert!(seen.starts_with("exit 0"), "{seen}");
}
