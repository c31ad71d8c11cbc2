//! Refusals and their exit codes.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Office;
use crate::cli::transcript;
use crate::support::{Chorus, reserve_port};

#[tokio::test]
async fn a_request_that_is_not_there_exits_with_three() {
    let office = Office::open();
    for arguments in [
        &["show", "nope"][..],
        &["approve", "nope"],
        &["next", "nope"],
        &["claim", "nope"],
        &["heartbeat", "nope"],
        &["done", "nope", "r"],
        &["requeue", "nope", "r"],
        &["list", "--after", "nope"],
    ] {
        let seen = office
            .run(["request"].into_iter().chain(arguments.iter().copied()))
            .await;
        let expected = "exit 3\n--- stdout\n--- stderr\nerror: Request not found: nope\n\
                        hint: `chorus request list` lists the requests\n";
        assert_eq!(seen, expected, "{arguments:?}");
    }
    assert_snapshot!(office.run(["request", "wait", "../tasks"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Request not found: ../tasks
    hint: `chorus request list` lists the requests
    ");
    let task = ["request", "create", "t", "--kind", "fix", "--task", "nope"];
    assert_snapshot!(office.run(task).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    hint: `chorus task list` lists the tasks
    ");
}

#[tokio::test]
async fn invalid_arguments_of_a_request_are_refused() {
    let office = Office::open();
    assert_snapshot!(office.run(["request", "create", "t"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --kind <KIND>

    Usage: chorus request create --kind <KIND> <TITLE>

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "create", "t", "--kind", "Fix it"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'Fix it' for '--kind <KIND>': must be a kind of work such as `implementation`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "create", "two\nlines", "--kind", "fix"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: TITLE: must be one line; put the rest into the body
    ");
    assert_snapshot!(office.run(["request", "create", "t", "--kind", "fix", "--effort", "huge"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'huge' for '--effort <S|M|L>': must be S, M or L

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "done", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <RESPONSE>

    Usage: chorus request done <REQUEST> <RESPONSE>

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "heartbeat", "x", "--fencing", "-1"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: unexpected argument '-1' found

      tip: to pass '-1' as a value, use '-- -1'

    Usage: chorus request heartbeat [OPTIONS] <REQUEST>

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "wait", "x", "--state", "over"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'over' for '--state <STATE>'
      [possible values: needs, delegated, next, claimed, done]

    For more information, try '--help'.
    ");
    assert_eq!(
        office
            .server
            .client()
            .get("/api/requests", &[])
            .await
            .unwrap()
            .data::<Value>()
            .unwrap(),
        json!([])
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_exits_with_five() {
    let url = format!("http://127.0.0.1:{}", reserve_port());
    let list = Chorus::new(["request", "list", "--url", &url]);
    assert_snapshot!(transcript(list).await.unwrap(), @"
    exit 5
    --- stdout
    --- stderr
    error: cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    hint: start a server with `chorus serve`, or name another one with --url or CHORUS_URL
    ");
    // A wait is patient with a server that restarts, but ends at its timeout.
    let wait = Chorus::new(["request", "wait", "x", "--timeout", "1", "--url", &url]);
    assert_snapshot!(transcript(wait).await.unwrap(), @"
    exit 5
    --- stdout
    --- stderr
    cannot reach a Chorus server at http://<server>: Connection refused (os error 111); waiting for at most 1 s
    error: cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    hint: start a server with `chorus serve`, or name another one with --url or CHORUS_URL
    ");
}
