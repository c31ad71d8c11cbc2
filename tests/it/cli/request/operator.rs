//! The commands of the operator, and the overview of the dispatcher.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Office;
use crate::cli::transcript;
use crate::support::{Sandbox, redact, run_agent};

#[tokio::test]
async fn without_the_operators_token_an_approval_is_refused_with_a_hint() {
    let office = Office::open();
    let id = office.create("One").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = |arguments: &[&str]| {
        let command = office.chorus(arguments.iter().copied());
        transcript(command.env("CHORUS_DATA_DIR", elsewhere.path()))
    };
    assert_snapshot!(stranger(&["request", "approve", &id]).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: Operator token required
    hint: name the server's data directory, which has the operator's token, with --data-dir or CHORUS_DATA_DIR, or set CHORUS_TOKEN to a token
    ");
    assert_snapshot!(stranger(&["request", "next", &id]).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: Operator token required
    hint: name the server's data directory, which has the operator's token, with --data-dir or CHORUS_DATA_DIR, or set CHORUS_TOKEN to a token
    ");
    assert_snapshot!(stranger(&["request", "done", &id, "No."]).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: Operator token required to move a request out of `needs`
    hint: name the server's data directory, which has the operator's token, with --data-dir or CHORUS_DATA_DIR, or set CHORUS_TOKEN to a token
    ");
    assert_eq!(office.show(&id).await["state"], "needs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_leaves_work_behind_and_cannot_approve_it() {
    let script = "id=$(chorus request create 'Fix the lock' --kind fix) && chorus request approve $id 2>&1; \
                  chorus request next $id 2>&1; chorus request done $id yes 2>&1; chorus request kinds --set /dev/null 2>&1; \
                  echo '[]' | chorus request kinds --set - 2>&1; echo exit $?";
    let sandbox = Sandbox::new().with_agent("worker", script);
    let server = sandbox.serve(1);
    let client = server.client();
    let handoff = run_agent(&client, "worker").await;
    assert_snapshot!(redact(handoff.output.as_str()), @"
    error: Only the operator may do this, not a run of worker. Leave the decision to the operator
    error: Only the operator may do this, not a run of worker. Leave the decision to the operator
    error: Only the operator may move a request out of `needs`. Wait for the approval
    error: /dev/null is not JSON: EOF while parsing a value at line 1 column 0
    error: Only the operator may do this, not a run of worker. Leave the decision to the operator
    exit 1
    ");
    let requests: Value = client
        .get("/api/requests", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    assert_eq!(requests[0]["state"], "needs");
    assert_eq!(requests[0]["source"]["taskId"], json!(handoff.task_id));
    assert_eq!(requests[0]["transitions"][0]["by"], "worker");
}

#[tokio::test]
async fn routes_are_shown_and_set_from_a_file() {
    let office = Office::open();
    assert_snapshot!(office.run(["request", "kinds"]).await, @"
    exit 0
    --- stdout
    brainstorm	planner	agent	1	attempts 2
    research	planner	agent	2	attempts 2
    fix	developer	agent	3	attempts 2
    implementation	developer	agent	4	attempts 2
    loop	developer	agent	4.5	attempts 2
    chores	developer	agent	5	attempts 2
    documentation	developer	agent	6	attempts 2
    --- stderr
    ");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("routes.json");
    let path = file.to_str().unwrap();
    std::fs::write(&file, r#"{ "routes": [{ "kind": "fix", "agent": "qa", "rank": 1.5, "retry": true, "batch": true, "maxAttempts": 3 }] }"#).unwrap();
    assert_snapshot!(office.run(["request", "kinds", "--set", path]).await, @"
    exit 0
    --- stdout
    fix	qa	agent	1.5	attempts 3 retry batch
    --- stderr
    ");
    let piped = office
        .chorus(["request", "kinds", "--set", "-"])
        .input("[]");
    assert_snapshot!(transcript(piped).await.unwrap(), @"
    exit 0
    --- stdout
    --- stderr
    ");
    std::fs::write(
        &file,
        r#"[{ "kind": "fix", "agent": "nobody", "rank": 1, "maxAttempts": 3 }]"#,
    )
    .unwrap();
    assert_snapshot!(office.run(["request", "kinds", "--set", path]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: <tmp>/routes.json, rule 1: agent: unknown agent nobody; the agents are: developer, developer-review, fixing-specialist, implementation-specialist, orchestrator, planner, qa, testing-specialist, verification-specialist
    ");
    std::fs::write(&file, "kind: fix").unwrap();
    assert_snapshot!(office.run(["request", "kinds", "--set", path]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: <tmp>/routes.json is not JSON: expected value at line 1 column 1
    ");
    assert_snapshot!(office.run(["request", "kinds", "--set", "/no/where"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: cannot read /no/where: No such file or directory (os error 2)
    ");
    assert_snapshot!(office.run(["request", "kinds"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
}

#[tokio::test]
async fn top_shows_all_requests_that_are_not_done() {
    let office = Office::open();
    let (first, second) = (office.create("One").await, office.create("Two").await);
    office
        .run(["request", "create", "Three", "--kind", "unheard-of"])
        .await;
    office.run(["request", "approve", &first, &second]).await;
    office
        .run(["request", "claim", &first, "--as", "worker"])
        .await;
    let fourth = office.create("Four").await;
    office.run(["request", "next", &fourth]).await;
    office.run(["request", "claim", &fourth, "--as", "w"]).await;
    office
        .run(["request", "requeue", &fourth, "The key has expired"])
        .await;
    office.run(["request", "next", &fourth]).await;
    let seen = office.run(["request", "top"]).await;
    // How long ago something was is real time.
    let columns = |line: &str| {
        let columns = line.split('\t').enumerate();
        columns
            .filter(|(place, _)| *place != 1)
            .map(|(_, column)| column)
            .collect::<Vec<_>>()
            .join("\t")
    };
    let seen: Vec<_> = seen
        .lines()
        .map(|line| {
            if line.contains('\t') {
                columns(line)
            } else {
                line.to_owned()
            }
        })
        .collect();
    assert_snapshot!(seen.join("\n"), @"
    exit 0
    --- stdout
    claimed	P2	fix	worker	-	-	<id 1>	One
    queued	P2	fix	-	-	-	<id 2>	Two
    next	P2	fix	-	-	-	<id 3>	Four
    needs	P2	unheard-of	-	-	-	<id 4>	Three
    --- stderr
    Request <id 3> failed: The key has expired
    Requests in state needs wait for you: chorus request approve REQUEST
    Requests in state next wait for anyone: chorus request claim REQUEST
    1 request of kind unheard-of will not start. Kind unheard-of has no rule. Add one with `chorus request kinds --set FILE` or PUT /api/dispatch/routes
    The dispatcher is off: approved requests wait to be claimed
    ");
}

#[tokio::test]
async fn an_approval_is_taken_back_and_the_request_closed() {
    let office = Office::open();
    let (first, second) = (office.create("One").await, office.create("Two").await);
    office.run(["request", "approve", &first]).await;
    office.run(["request", "next", &second]).await;
    let withdraw = [
        "request",
        "withdraw",
        &first,
        &second,
        "--reason",
        "Too early",
    ];
    assert_snapshot!(office.run(withdraw).await, @"
    exit 0
    --- stdout
    <id 1> needs
    <id 2> needs
    --- stderr
    ");
    // A refusal does not hold up the others.
    office.run(["request", "approve", &second]).await;
    assert_snapshot!(office.run(withdraw).await, @"
    exit 4
    --- stdout
    <id 1> needs
    --- stderr
    error: Request <id 2> cannot be withdrawn: its state is `needs`. It has no approval to take back
    ");
    let shown = office.run(["request", "show", &first]).await;
    assert!(shown.contains("operator: Too early"), "{shown}");
    assert_snapshot!(office.run(["request", "done", &first, "Not needed."]).await, @"
    exit 0
    --- stdout
    <id 1> done
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "withdraw", &first]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> cannot be withdrawn: its state is `done`. The work has already ended
    ");
    office.run(["request", "approve", &second]).await;
    let reason = office.chorus(["request", "withdraw", &second, "--reason", "-", "--json"]);
    assert!(
        transcript(reason.input("From a\nfile"))
            .await
            .unwrap()
            .contains("exit 0")
    );
    let request = office.show(&second).await;
    assert_eq!(request["transitions"][6]["reason"], "From a\nfile");
    assert_snapshot!(office.run(["request", "withdraw"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <REQUEST>...

    Usage: chorus request withdraw <REQUEST>...

    For more information, try '--help'.
    ");
}
