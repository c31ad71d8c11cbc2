//! `chorus migrate`

use std::path::Path;

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::support::{Chorus, Server, redact};

fn migrate(data_dir: &Path, arguments: &[&str]) -> String {
    let start = ["migrate", "--data-dir", data_dir.to_str().unwrap()];
    redact(&Chorus::new(start.iter().chain(arguments).copied()).transcript())
}

fn change(data_dir: &Path, sql: &str) {
    Connection::open(data_dir.join("chorus.db"))
        .unwrap()
        .execute(sql, [])
        .unwrap();
}

#[test]
fn a_check_lists_pending_migrations_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(migrate(folder.path(), &["--check"]), @"
    exit 1
    --- stdout
    0001	pending	initial
    0002	pending	running
    0003	pending	transfer
    0004	pending	requests
    0005	pending	roles
    0006	pending	mail
    0007	pending	facts_as_columns
    0008	pending	reports_without_details
    0009	pending	clock
    0010	pending	isolation
    0011	pending	launches
    0012	pending	unproven_starts
    0013	pending	tag_agreements
    0014	pending	least_rights
    0015	pending	troubles
    0016	pending	delegations
    0017	pending	shared_plans
    0018	pending	queue_delivery
    0019	pending	followed_errors
    0020	pending	counts
    0021	pending	document_views
    0025	pending	board_and_attention
    0026	pending	chat
    --- stderr
    error: migrations are pending
    hint: apply them with `chorus migrate`
    ");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn migrating_makes_the_database_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let first = migrate(folder.path(), &[]);
    assert_snapshot!(first, @"
    exit 0
    --- stdout
    0001	applied	initial
    0002	applied	running
    0003	applied	transfer
    0004	applied	requests
    0005	applied	roles
    0006	applied	mail
    0007	applied	facts_as_columns
    0008	applied	reports_without_details
    0009	applied	clock
    0010	applied	isolation
    0011	applied	launches
    0012	applied	unproven_starts
    0013	applied	tag_agreements
    0014	applied	least_rights
    0015	applied	troubles
    0016	applied	delegations
    0017	applied	shared_plans
    0018	applied	queue_delivery
    0019	applied	followed_errors
    0020	applied	counts
    0021	applied	document_views
    0025	applied	board_and_attention
    0026	applied	chat
    --- stderr
    ");
    assert_eq!(migrate(folder.path(), &[]), first);
    assert_eq!(migrate(folder.path(), &["--check"]), first);
}

#[test]
fn an_edited_migration_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    migrate(folder.path(), &[]);
    change(
        folder.path(),
        "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1",
    );
    assert_snapshot!(migrate(folder.path(), &["--check"]), @"
    exit 1
    --- stdout
    0001	changed	initial
    0002	applied	running
    0003	applied	transfer
    0004	applied	requests
    0005	applied	roles
    0006	applied	mail
    0007	applied	facts_as_columns
    0008	applied	reports_without_details
    0009	applied	clock
    0010	applied	isolation
    0011	applied	launches
    0012	applied	unproven_starts
    0013	applied	tag_agreements
    0014	applied	least_rights
    0015	applied	troubles
    0016	applied	delegations
    0017	applied	shared_plans
    0018	applied	queue_delivery
    0019	applied	followed_errors
    0020	applied	counts
    0021	applied	document_views
    0025	applied	board_and_attention
    0026	applied	chat
    --- stderr
    error: an applied migration differs from the one in this version of Chorus
    hint: use the version that wrote the database, or restore a backup
    ");
    assert_snapshot!(migrate(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: migration 1 of the database <tmp>/chorus.db differs from the one in this version of Chorus; use the version that wrote the database, or restore a backup
    ");
}

#[test]
fn an_unknown_migration_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    migrate(folder.path(), &[]);
    change(
        folder.path(),
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'x', 1, x'00', 0)",
    );
    assert_snapshot!(migrate(folder.path(), &["--check"]), @"
    exit 1
    --- stdout
    0001	applied	initial
    0002	applied	running
    0003	applied	transfer
    0004	applied	requests
    0005	applied	roles
    0006	applied	mail
    0007	applied	facts_as_columns
    0008	applied	reports_without_details
    0009	applied	clock
    0010	applied	isolation
    0011	applied	launches
    0012	applied	unproven_starts
    0013	applied	tag_agreements
    0014	applied	least_rights
    0015	applied	troubles
    0016	applied	delegations
    0017	applied	shared_plans
    0018	applied	queue_delivery
    0019	applied	followed_errors
    0020	applied	counts
    0021	applied	document_views
    0025	applied	board_and_attention
    0026	applied	chat
    9999	unknown	of a newer version of Chorus
    --- stderr
    error: a newer version of Chorus wrote the database
    hint: use that version or a later one
    ");
    assert_snapshot!(migrate(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: a newer version of Chorus wrote the database <tmp>/chorus.db (it has migration 9999); use that version or a later one
    ");
}

#[test]
fn a_file_that_is_no_database_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("chorus.db"),
        "not a database ".repeat(100),
    )
    .unwrap();
    assert_snapshot!(migrate(folder.path(), &["--check"]), @"
    exit 1
    --- stdout
    --- stderr
    error: cannot open the database <tmp>/chorus.db: while executing migrations: error returned from database: (code: 26) file is not a database
    ");
}

#[test]
fn nothing_is_migrated_under_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path());
    assert_snapshot!(migrate(folder.path(), &[]), @"
    exit 1
    --- stdout
    --- stderr
    error: the data directory <tmp> is in use by another Chorus process (pid <n>); stop it first, or choose another with --data-dir
    ");
    assert!(migrate(folder.path(), &["--check"]).starts_with("exit 0\n"));
}
