//! The life of a request, and how it is shown.

use insta::assert_snapshot;
use reqwest::Method;
use serde_json::{Value, json};

use super::Office;
use crate::cli::transcript;

#[tokio::test]
async fn a_request_is_created_approved_claimed_kept_and_done() {
    let office = Office::open();
    let create = [
        "request",
        "create",
        "Fix the\tlock",
        "--kind",
        "fix",
        "--body",
        "-",
        "--priority",
        "p1",
        "--effort",
        "m",
    ];
    let made = office
        .chorus(create)
        .input("It is held\ntoo long.\n")
        .output();
    assert!(made.status.success());
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    assert_eq!(office.show(&id).await["body"], "It is held\ntoo long.\n");
    assert_eq!(office.show(&id).await["source"]["userId"], "tester");
    assert_snapshot!(office.run(["request", "approve", &id]).await, @"
    exit 0
    --- stdout
    <id 1> delegated
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "claim", &id, "--as", "worker", "--lease", "60"]).await, @"
    exit 0
    --- stdout
    1
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "heartbeat", &id, "--fencing", "1", "--lease", "600"]).await, @"
    exit 0
    --- stdout
    <id 1> claimed by worker
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "show", &id]).await, @"
    exit 0
    --- stdout
    request   <id 1>
    title     Fix the	lock
    state     claimed
    kind      fix
    priority  P1
    effort    M
    source    tester
    claimed   by worker, fencing token 1, until <time>

    It is held
    too long.

    History
      <time>  needs      a person
      <time>  delegated  operator
      <time>  claimed    worker
    --- stderr
    ");
    let done = office
        .chorus(["request", "done", &id, "-", "--fencing", "1"])
        .input("It is\nreleased.\n");
    assert_snapshot!(transcript(done).await.unwrap(), @"
    exit 0
    --- stdout
    <id 1> done
    --- stderr
    ");
    assert_eq!(office.show(&id).await["response"], "It is\nreleased.\n");
    assert_snapshot!(office.run(["request", "show", &id]).await, @"
    exit 0
    --- stdout
    request   <id 1>
    title     Fix the	lock
    state     done
    kind      fix
    priority  P1
    effort    M
    source    tester

    It is held
    too long.

    History
      <time>  needs      a person
      <time>  delegated  operator
      <time>  claimed    worker
      <time>  done       worker

    Response
    It is
    released.
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "wait", &id, "--timeout", "60"]).await, @"
    exit 0
    --- stdout
    It is
    released.

    --- stderr
    ");
}

#[tokio::test]
async fn requests_are_listed_with_state_priority_kind_and_title() {
    let office = Office::open();
    assert_snapshot!(office.run(["request", "list"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    let (first, second) = (
        office.create("One").await,
        office.create("Two \u{1b}[2J").await,
    );
    let research = [
        "request",
        "create",
        "Three",
        "--kind",
        "research",
        "--priority",
        "P0",
    ];
    office.run(research).await;
    office.run(["request", "approve", &first]).await;
    office.run(["request", "claim", &first]).await;
    assert_snapshot!(office.run(["request", "list"]).await, @"
    exit 0
    --- stdout
    <id 1>	claimed	P2	fix	tester	One
    <id 2>	needs	P2	fix	-	Two �[2J
    <id 3>	needs	P0	research	-	Three
    --- stderr
    ");
    assert_snapshot!(office.run(["requests", "list", "--state", "claimed"]).await, @"
    exit 0
    --- stdout
    <id 1>	claimed	P2	fix	tester	One
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "list", "--kind", "research", "--priority", "p0"]).await, @"
    exit 0
    --- stdout
    <id 1>	needs	P0	research	-	Three
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "list", "--limit", "1"]).await, @"
    exit 0
    --- stdout
    <id 1>	claimed	P2	fix	tester	One
    --- stderr
    More rows: --after <id 1>
    ");
    assert_snapshot!(office.run(["request", "list", "--after", &second]).await, @"
    exit 0
    --- stdout
    <id 1>	needs	P0	research	-	Three
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "list", "--withdrawn"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "list", "--json", "--state", "claimed"]).await, @r#"
    exit 0
    --- stdout
    {"data":[{"id":"<id 1>","title":"One","body":"","kind":"fix","state":"claimed","priority":"P2","effort":null,"source":{"sourceType":"person","taskId":null,"file":null,"line":null,"userId":"anonymous"},"taskId":null,"response":null,"attempts":1,"lease":{"agent":"tester","fencing":1,"expiresAt":<time>},"transitions":[{"from":null,"to":"needs","by":"anonymous","at":<time>,"reason":null},{"from":"needs","to":"delegated","by":"operator","at":<time>,"reason":null},{"from":"delegated","to":"claimed","by":"tester","at":<time>,"reason":null}],"recovery":[],"createdAt":<time>,"updatedAt":<time>,"approvedAt":<time>,"stuck":false,"withdrawnAt":null,"handoffId":null,"jobId":null,"agentWorkspace":null}],"meta":{"timestamp":<time>,"event":5}}
    --- stderr
    "#);
    assert_snapshot!(office.run(["request", "list", "--state", "open"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'open' for '--state <STATE>'
      [possible values: needs, delegated, next, claimed, done]

      tip: a similar value exists: 'done'

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "list", "--priority", "urgent"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'urgent' for '--priority <P0|P1|P2>': must be P0, P1 or P2

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn several_are_approved_together_or_not_at_all() {
    let office = Office::open();
    let (first, second) = (office.create("One").await, office.create("Two").await);
    assert_snapshot!(office.run(["request", "approve", &first, "nope", &second]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: No request was approved. Request not found: nope
    ");
    assert_eq!(office.show(&first).await["state"], "needs");
    assert_snapshot!(office.run(["request", "approve", &first, &second]).await, @"
    exit 0
    --- stdout
    <id 1> delegated
    <id 2> delegated
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "approve", &first, &second]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: No request was approved. Request <id 1> cannot be approved: its state is `delegated`. It is already approved. Request <id 2> cannot be approved: its state is `delegated`. It is already approved
    ");
    assert_snapshot!(office.run(["request", "approve"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: No request was named: name requests, or use --all
    hint: `chorus request list --state needs` lists the undecided requests
    ");
}

#[tokio::test]
async fn requests_are_released_to_any_claimer_and_requeued() {
    let office = Office::open();
    let (first, second) = (office.create("One").await, office.create("Two").await);
    assert_snapshot!(office.run(["request", "next", &first, &second]).await, @"
    exit 0
    --- stdout
    <id 1> next
    <id 2> next
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "next", &first]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> cannot be moved to `next`: its state is `next`. It is already approved
    ");
    let claim = office
        .chorus(["request", "claim", &first])
        .env("CHORUS_AGENT", "worker");
    assert_snapshot!(transcript(claim).await.unwrap(), @"
    exit 0
    --- stdout
    1
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "claim", &first, "--as", "other"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> cannot be claimed: its state is `claimed` by worker. Wait until its lease ends, or re-queue it
    ");
    assert_snapshot!(office.run(["request", "requeue", &first, "The key has expired", "--fencing", "7"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> is no longer yours: its fencing token is 1, not 7. Stop working on it
    ");
    assert_snapshot!(office.run(["request", "requeue", &first, " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: REASON: must not be empty
    ");
    assert_snapshot!(office.run(["request", "requeue", &first, "The key has expired", "--fencing", "1"]).await, @"
    exit 0
    --- stdout
    <id 1> needs
    --- stderr
    ");
    assert_snapshot!(office.run(["request", "heartbeat", &first]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> cannot be renewed: its state is `needs`. The operator must approve it first
    ");
    assert_snapshot!(office.run(["request", "show", &first]).await, @"
    exit 0
    --- stdout
    request   <id 1>
    title     One
    state     needs (returned)
    kind      fix
    priority  P2
    source    a person

    History
      <time>  needs      a person
      <time>  next       operator
      <time>  claimed    worker
      <time>  needs      worker: The key has expired

    Recovery
      <time>  The key has expired (Re-queued for a decision by the operator)
    --- stderr
    ");
}

#[tokio::test]
async fn json_of_a_request_command_is_the_answer_of_the_api() {
    let office = Office::open();
    let id = office.create("One").await;
    for arguments in [
        &["request", "show", &id][..],
        &["request", "approve", &id],
        &["request", "claim", &id, "--as", "worker"],
        &["request", "heartbeat", &id],
        &["request", "requeue", &id, "No time"],
        &["request", "next", &id],
        &["request", "claim", &id],
        &["request", "done", &id, "Done."],
        &["request", "wait", &id],
    ] {
        let printed = office
            .chorus(arguments.iter().copied().chain(["--json"]))
            .output();
        assert!(printed.status.success(), "{arguments:?}");
        let answer: Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert_eq!(answer["data"], office.show(&id).await, "{arguments:?}");
        assert!(printed.stderr.is_empty());
    }
    for (arguments, path) in [
        (["request", "top"], "/api/dispatch"),
        (["request", "kinds"], "/api/dispatch/routes"),
    ] {
        let printed = office
            .chorus(arguments.into_iter().chain(["--json"]))
            .output();
        let answer: Value = serde_json::from_slice(&printed.stdout).unwrap();
        let asked: Value = office
            .server
            .client()
            .get(path, &[])
            .await
            .unwrap()
            .data()
            .unwrap();
        assert_eq!(answer["data"], asked);
    }
}

#[tokio::test]
async fn a_request_shows_its_workspace_and_its_source() {
    let office = Office::open();
    let folder = tempfile::tempdir().unwrap();
    let create = [
        "request",
        "create",
        "Fix the lock",
        "--kind",
        "fix",
        "--workspace",
        "here",
    ];
    let made = office.chorus(create).current_dir(folder.path()).output();
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    assert_snapshot!(office.run(["request", "show", &id]).await, @"
    exit 0
    --- stdout
    request   <id 1>
    title     Fix the lock
    state     needs
    kind      fix
    priority  P2
    source    tester
    workspace <tmp>/here

    History
      <time>  needs      a person
    --- stderr
    ");
    let body = json!({ "description": "Write it" });
    let client = office.server.client();
    let task = client.send_json(Method::POST, "/api/tasks", &body).await;
    let task: Value = task.unwrap().data().unwrap();
    let task = task["id"].as_str().unwrap();
    let create = [
        "request", "create", "Test it", "--kind", "fix", "--task", task,
    ];
    let made = office.chorus(create).output();
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    assert_snapshot!(office.run(["request", "show", &id]).await, @"
    exit 0
    --- stdout
    request   <id 1>
    title     Test it
    state     needs
    kind      fix
    priority  P2
    source    task <id 2>
    workspace <tmp>/workspaces/<id 2>

    History
      <time>  needs      a person
    --- stderr
    ");
    let body = json!({
        "title": "Read it", "body": "", "kind": "fix",
        "source": { "sourceType": "file", "file": "/notes/todo.md", "line": 7 },
    });
    let made = client.send_json(Method::POST, "/api/requests", &body).await;
    let made: Value = made.unwrap().data().unwrap();
    let seen = office
        .run(["request", "show", made["id"].as_str().unwrap()])
        .await;
    assert!(seen.contains("\nsource    /notes/todo.md:7\n"), "{seen}");
}
