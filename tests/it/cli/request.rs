//! `chorus request` and `chorus await`.

use std::process::Stdio;

use chorus::client::Client;
use insta::assert_snapshot;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::transcript;
use crate::support::{Chorus, Server, Workshop, own_port, run, settled};

/// A server that runs no agents, and the program to talk to it as the operator does.
struct Office {
    server: Server,
    _folder: TempDir,
}

impl Office {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            server: Server::start(folder.path()),
            _folder: folder,
        }
    }

    fn chorus<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
        self.server.chorus(arguments)
    }

    /// Runs a command and returns all that a user sees; times are left out, as they are real.
    async fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        without_times(&transcript(self.chorus(arguments)).await.unwrap())
    }

    /// Leaves work behind and returns its id.
    async fn create(&self, title: &str) -> String {
        let body = json!({ "title": title, "body": "", "kind": "fix" });
        let client = self.server.client();
        let made = client.send_json(Method::POST, "/api/requests", &body).await;
        let made: Value = made.unwrap().data().unwrap();
        made["id"].as_str().unwrap().to_owned()
    }

    async fn show(&self, id: &str) -> Value {
        show(&self.server.client(), id).await
    }
}

async fn show(client: &Client, id: &str) -> Value {
    let request = client.get(&format!("/api/requests/{id}"), &[]).await;
    request.unwrap().data().unwrap()
}

/// Replaces times that a person or a program reads.
fn without_times(text: &str) -> String {
    let is_shaped = |text: &str, shape: &str| {
        text.len() >= shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, shape)| match shape {
                    b'0' => byte.is_ascii_digit(),
                    other => byte == other,
                })
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some(character) = rest.chars().next() {
        let shapes = ["0000-00-00 00:00:00", "0000000000000"];
        if let Some(shape) = shapes.iter().find(|shape| is_shaped(rest, shape)) {
            out += "<time>";
            rest = &rest[shape.len()..];
        } else {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    out
}

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
    assert_snapshot!(office.run(["request", "claim", &id, "--agent", "worker", "--lease", "60"]).await, @"
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
    claimed   by worker as claim 1, until <time>

    It is held
    too long.

    Life
      <time>  needs      anonymous
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

    Life
      <time>  needs      anonymous
      <time>  delegated  operator
      <time>  claimed    worker
      <time>  done       anonymous

    Response
    It is
    released.

    --- stderr
    ");
    assert_snapshot!(office.run(["await", &id]).await, @"
    exit 0
    --- stdout
    It is
    released.

    --- stderr
    ");
}

#[tokio::test]
async fn requests_are_listed_with_what_a_person_must_know() {
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
    There are more: --after <id 1>
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
    {"data":[{"id":"<id 1>","title":"One","body":"","kind":"fix","state":"claimed","priority":"P2","effort":null,"source":{"sourceType":"person","taskId":null,"file":null,"line":null,"userId":"anonymous"},"taskId":null,"response":null,"attempts":1,"lease":{"agent":"tester","fencing":1,"expiresAt":<time>},"transitions":[{"from":null,"to":"needs","by":"anonymous","at":<time>,"reason":null},{"from":"needs","to":"delegated","by":"operator","at":<time>,"reason":null},{"from":"delegated","to":"claimed","by":"tester","at":<time>,"reason":null}],"recovery":[],"createdAt":<time>,"updatedAt":<time>,"approvedAt":<time>,"stuck":false,"withdrawnAt":null,"handoffId":null,"jobId":null,"agentWorkspace":null}],"meta":{"timestamp":<time>}}
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
    exit 1
    --- stdout
    --- stderr
    error: query: priority: unknown variant `URGENT`, expected one of `P0`, `P1`, `P2`
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
    error: Nothing was approved: Request not found: nope
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
    error: Nothing was approved: Request <id 1> is delegated: it cannot be approved; Request <id 2> is delegated: it cannot be approved
    ");
    assert_snapshot!(office.run(["request", "approve"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <REQUESTS>...

    Usage: chorus request approve --url <URL> --data-dir <DIR> <REQUESTS>...

    For more information, try '--help'.
    ");
}

#[tokio::test]
async fn requests_are_left_to_whoever_starts_next_and_given_up() {
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
    error: Request <id 1> is next: it cannot be left to whoever starts next
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
    assert_snapshot!(office.run(["request", "claim", &first, "--agent", "other"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> is claimed by worker: it cannot be claimed
    ");
    assert_snapshot!(office.run(["request", "requeue", &first, "The key has expired", "--fencing", "7"]).await, @"
    exit 4
    --- stdout
    --- stderr
    error: Request <id 1> is no longer yours: it is claimed, and the number of its claim is 1; you show 7
    ");
    assert_snapshot!(office.run(["request", "requeue", &first, " "]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: reason: must not be empty
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
    error: Request <id 1> is needs: it cannot be kept
    ");
    assert_snapshot!(office.run(["request", "show", &first]).await, @"
    exit 0
    --- stdout
    request   <id 1>
    title     One
    state     needs
    kind      fix
    priority  P2
    source    anonymous

    Life
      <time>  needs      anonymous
      <time>  next       operator
      <time>  claimed    worker
      <time>  needs      anonymous: The key has expired

    Recovery
      <time>  The key has expired (Re-queued for a person to look at)
    --- stderr
    ");
}

#[tokio::test]
async fn what_is_asked_for_is_printed_as_it_came() {
    let office = Office::open();
    let id = office.create("One").await;
    for arguments in [
        &["request", "show", &id][..],
        &["request", "approve", &id],
        &["request", "claim", &id, "--agent", "worker"],
        &["request", "heartbeat", &id],
        &["request", "requeue", &id, "No time"],
        &["request", "next", &id],
        &["request", "claim", &id],
        &["request", "done", &id, "Done."],
        &["await", &id],
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
        (["request", "routes"], "/api/dispatch/routes"),
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
        assert_eq!(
            seen, "exit 3\n--- stdout\n--- stderr\nerror: Request not found: nope\n",
            "{arguments:?}"
        );
    }
    assert_snapshot!(office.run(["await", "../tasks"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Request not found: ../tasks
    ");
    let task = ["request", "create", "t", "--kind", "fix", "--task", "nope"];
    assert_snapshot!(office.run(task).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: nope
    ");
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_is_sent_or_by_the_server() {
    let office = Office::open();
    assert_snapshot!(office.run(["request", "create", "t"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --kind <KIND>

    Usage: chorus request create --kind <KIND> --url <URL> --data-dir <DIR> <TITLE>

    For more information, try '--help'.
    ");
    assert_snapshot!(office.run(["request", "create", "t", "--kind", "Fix it"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: kind: must be a kind of work such as `implementation`: small letters, digits and `-`, beginning with a letter, at most 64
    ");
    assert_snapshot!(office.run(["request", "create", "two\nlines", "--kind", "fix"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: title: must be one line; put the rest into the body
    ");
    assert_snapshot!(office.run(["request", "create", "t", "--kind", "fix", "--effort", "huge"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: effort: unknown variant `HUGE`, expected one of `S`, `M`, `L`
    ");
    assert_snapshot!(office.run(["request", "done", "x"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <RESPONSE>

    Usage: chorus request done --url <URL> --data-dir <DIR> <REQUEST> <RESPONSE>

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
    assert_snapshot!(office.run(["await", "x", "--state", "over"]).await, @"
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
    let url = format!("http://127.0.0.1:{}", own_port());
    let list = Chorus::new(["request", "list", "--url", &url]);
    assert_snapshot!(transcript(list).await.unwrap(), @"
    exit 5
    --- stdout
    --- stderr
    error: cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    hint: start one with `chorus serve`, or name another with --url or CHORUS_URL
    ");
    // Who waits is patient with a server that restarts, but not beyond the time that they have.
    let wait = Chorus::new(["await", "x", "--timeout", "1", "--url", &url]);
    assert_snapshot!(transcript(wait).await.unwrap(), @"
    exit 5
    --- stdout
    --- stderr
    error: cannot reach a Chorus server at http://<server>: Connection refused (os error 111)
    hint: start one with `chorus serve`, or name another with --url or CHORUS_URL
    ");
}

#[tokio::test]
async fn without_the_operators_token_nothing_is_approved_and_it_is_said_why() {
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
    error: The operator's token is needed: Authorization: Bearer <the word in operator.token>
    ");
    assert_snapshot!(stranger(&["request", "next", &id]).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: The operator's token is needed: Authorization: Bearer <the word in operator.token>
    ");
    assert_snapshot!(stranger(&["request", "done", &id, "No."]).await.unwrap(), @"
    exit 1
    --- stdout
    --- stderr
    error: Only the operator moves a request out of `needs`: Authorization: Bearer <the word in operator.token>
    ");
    assert_eq!(office.show(&id).await["state"], "needs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_leaves_work_behind_and_cannot_approve_it() {
    let script = "id=$(chorus request create 'Fix the lock' --kind fix) && chorus request approve $id 2>&1; \
                  chorus request next $id 2>&1; chorus request done $id yes 2>&1; chorus request routes --set /dev/null 2>&1; \
                  echo '[]' | chorus request routes --set - 2>&1; echo exit $?";
    let workshop = Workshop::new().agent("worker", script);
    let server = workshop.serve(1);
    let client = server.client();
    let handoff = run(&client, "worker").await;
    assert_snapshot!(settled(handoff.output.as_str()), @"
    error: This run of worker may not do what only the operator does
    error: This run of worker may not do what only the operator does
    error: Only the operator moves a request out of `needs`
    error: /dev/null is not JSON: EOF while parsing a value at line 1 column 0
    error: This run of worker may not do what only the operator does
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
    assert_snapshot!(office.run(["request", "routes"]).await, @"
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
    assert_snapshot!(office.run(["request", "routes", "--set", path]).await, @"
    exit 0
    --- stdout
    fix	qa	agent	1.5	attempts 3 retry batch
    --- stderr
    ");
    let piped = office
        .chorus(["request", "routes", "--set", "-"])
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
    assert_snapshot!(office.run(["request", "routes", "--set", path]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: routes[0].agent: unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa
    ");
    std::fs::write(&file, "kind: fix").unwrap();
    assert_snapshot!(office.run(["request", "routes", "--set", path]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: <tmp>/routes.json is not JSON: expected value at line 1 column 1
    ");
    assert_snapshot!(office.run(["request", "routes", "--set", "/no/where"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: cannot read /no/where: No such file or directory (os error 2)
    ");
    assert_snapshot!(office.run(["request", "routes"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
}

#[tokio::test]
async fn what_is_before_the_dispatcher_is_shown() {
    let office = Office::open();
    let (first, second) = (office.create("One").await, office.create("Two").await);
    office
        .run(["request", "create", "Three", "--kind", "unheard-of"])
        .await;
    office.run(["request", "approve", &first, &second]).await;
    office
        .run(["request", "claim", &first, "--agent", "worker"])
        .await;
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
    waits	P2	fix	-	-	-	<id 2>	Two
    --- stderr
    1 of kind unheard-of will not be started. The kind unheard-of has no route: add one with PUT /api/dispatch/routes
    The dispatcher is off: approved requests wait until somebody claims them
    ");
}

#[tokio::test]
async fn who_waits_in_vain_is_told_at_the_timeout() {
    let office = Office::open();
    let id = office.create("One").await;
    assert_snapshot!(office.run(["await", &id, "--timeout", "0"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: request <id 1> is still needs and not done
    ");
    assert_snapshot!(office.run(["await", &id, "--timeout", "1", "--state", "claimed"]).await, @"
    exit 1
    --- stdout
    --- stderr
    error: request <id 1> is still needs and not claimed
    ");
    assert_snapshot!(office.run(["await", &id, "--state", "needs"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    office.run(["request", "approve", &id]).await;
    assert_snapshot!(office.run(["await", &id, "--state", "next"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
}

/// Starts `chorus await`.
fn begin_to_wait(server: &Server, id: &str) -> std::process::Child {
    server
        .chorus(["await", id])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Waits until somebody waits for an answer of the server.
async fn until_asked(client: &Client, count: u32) {
    loop {
        let request = client.request(Method::GET, "/metrics");
        let metrics = request.send().await.unwrap().text().await.unwrap();
        let waiting = metrics
            .lines()
            .find_map(|line| line.strip_prefix("chorus_waiters "));
        if waiting == Some(&count.to_string()) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_woken_by_an_answer_from_elsewhere() {
    let office = Office::open();
    let id = office.create("One").await;
    let waits = begin_to_wait(&office.server, &id);
    until_asked(&office.server.client(), 1).await;
    office
        .run(["request", "done", &id, "# It is done\nreally"])
        .await;
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "# It is done\nreally\n"
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_survives_a_restart_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let port = own_port();
    let serve = || {
        let command = Chorus::new(["serve", "--port", &port, "--max-runs", "0", "--log", "warn"]);
        Server::spawn(folder.path(), command)
    };
    let server = serve();
    let body = json!({ "title": "One", "body": "", "kind": "fix" });
    let client = server.client();
    let made = client.send_json(Method::POST, "/api/requests", &body).await;
    let made: Value = made.unwrap().data().unwrap();
    let id = made["id"].as_str().unwrap();
    let waits = begin_to_wait(&server, id);
    until_asked(&client, 1).await;
    server.kill();
    let server = serve();
    until_asked(&client, 1).await;
    let done = transcript(server.chorus(["request", "done", id, "After all."]));
    assert!(done.await.unwrap().starts_with("exit 0"));
    let output = waits.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "After all.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_dispatched_answers_who_waits() {
    let workshop = Workshop::new().agent("worker", "cat >/dev/null; echo 'I did it.'");
    let server = workshop.serve_with(1, &["--port", "0", "--debounce-seconds", "0"]);
    let client = server.client();
    let routes = server
        .chorus(["request", "routes", "--set", "-"])
        .input(r#"[{ "kind": "fix", "agent": "worker", "rank": 1 }]"#);
    assert!(transcript(routes).await.unwrap().starts_with("exit 0"));
    let made = server
        .chorus(["request", "create", "One", "--kind", "fix"])
        .output();
    let id = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let waits = begin_to_wait(&server, &id);
    until_asked(&client, 1).await;
    let approved = transcript(server.chorus(["request", "approve", &id]));
    assert!(approved.await.unwrap().starts_with("exit 0"));
    let output = waits.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "I did it.\n");
    let request = show(&client, &id).await;
    let moved_by: Vec<_> = request["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["by"].clone())
        .collect();
    assert_eq!(moved_by, ["anonymous", "operator", "dispatcher", "worker"]);
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}
