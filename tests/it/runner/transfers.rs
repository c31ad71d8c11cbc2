//! Agents that pass control by tools.

use chorus::client::{Client, ClientError, Reply};
use chorus::domain::{Message, Outcome, Task, TaskTree};
use chorus::secret::Token;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Events, Server, Workshop, begin, ended, hand_off, last_id};

/// What an agent's script can say to pass control: `call TOOL ARGUMENTS`.
const CALL: &str = r#"call() { curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/tools/$1" -d "$2"; }
"#;

/// Says whether the agent that left its pid in the workspace is still there.
const ALONE: &str =
    "if kill -0 $(cat pid) 2>/dev/null; then echo both are here; else echo alone; fi";

/// Adds an agent that can pass control.
fn passing(workshop: Workshop, name: &str, script: &str) -> Workshop {
    workshop.agent(name, &format!("{CALL}{script}"))
}

/// Makes the tool `to_TARGET` for each target, with these variables.
async fn make_tools(client: &Client, targets: &[&str], variables: Value) {
    for target in targets {
        let tool = json!({
            "name": format!("to_{target}"), "description": format!("When {target} must go on."),
            "targetAgent": target, "contextVariables": variables, "handoffInstructions": format!("Be {target}."),
        });
        client
            .send_json(Method::POST, "/api/tools", &tool)
            .await
            .unwrap();
    }
}

async fn call(client: &Client, task: &Task, tool: &str, body: Value) -> Result<Task, ClientError> {
    let path = format!("/api/tasks/{}/tools/{tool}", task.id);
    client.send_json(Method::POST, &path, &body).await?.data()
}

async fn get(client: &Client, path: &str) -> Reply {
    client.get(path, &[]).await.unwrap()
}

/// Waits until no agent works on a task or below it.
async fn settled(client: &Client, task: &Task) -> Task {
    let query = [("wait", "settled".to_owned()), ("timeout", "60".to_owned())];
    let path = format!("/api/tasks/{}", task.id);
    client.get(&path, &query).await.unwrap().data().unwrap()
}

async fn all_tasks(client: &Client) -> Vec<Task> {
    get(client, "/api/tasks").await.data().unwrap()
}

fn refusal<T: std::fmt::Debug>(refused: Result<T, ClientError>) -> (u16, String, String) {
    match refused {
        Err(ClientError::Refused { status, error }) => {
            (status.as_u16(), error.code.clone(), error.message.clone())
        }
        other => panic!("{other:?}"),
    }
}

/// Waits until the agent of a task's hand-off works, and returns a client that shows the token that it prints.
async fn in_its_name(server: &Server, events: &mut Events, task: &Task) -> Client {
    let said = events.until("message_added", &last_id(task)).await;
    let said = said["data"]["content"].as_str().unwrap().to_owned();
    let token = Token::given(said.split_once(' ').unwrap().1.to_owned());
    Client::new(&server.url, Some(token)).unwrap()
}

/// Agents that tell their token and wait until somebody ends them.
fn waiting_agents(names: &[&str]) -> Workshop {
    names.iter().fold(Workshop::new(), |workshop, name| {
        workshop.agent(
            name,
            "echo $CHORUS_HANDOFF_ID $CHORUS_TOKEN; exec sleep 600",
        )
    })
}

/// Reads what an agent was told on its last hand-off of a task.
fn told(workshop: &Workshop, task: &Task) -> String {
    let run = workshop.read(&format!(
        "SELECT r.id FROM runs r JOIN handoffs h ON h.number = r.handoff_number JOIN tasks t ON t.number = h.task_number
          WHERE t.id = '{}' ORDER BY r.number DESC LIMIT 1",
        task.id
    ));
    let prompt = workshop.data_dir.join("runs").join(run).join("prompt.txt");
    std::fs::read_to_string(prompt).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn control_passes_from_a_to_b_to_c_and_the_context_accumulates() {
    let workshop = passing(
        Workshop::new(),
        "a",
        r#"echo 'a has looked'; call to_b '{"lead": "123", "score": 1}' >answer"#,
    );
    let workshop = passing(
        workshop,
        "b",
        r#"echo 'b has called'; call to_c '{"score": 2, "notes": ["x\ny"]}' >answer"#,
    )
    .agent("c", "echo 'c has closed'");
    // One slot is enough: whoever passed control on is gone.
    let server = workshop.serve(1);
    let client = server.client();
    let variables = json!([
        { "name": "lead", "type": "string" }, { "name": "score", "type": "number", "required": true },
        { "name": "notes", "type": "array" },
    ]);
    make_tools(&client, &["b", "c"], variables).await;
    let mut events = Events::listen(&client).await;
    let first = begin(&client, "a").await;
    let first = settled(&client, &first).await;
    let tasks = all_tasks(&client).await;
    let [a, b, c] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    assert_eq!((&a.id, a.status.name().as_str()), (&first.id, "completed"));
    assert_eq!(b.status.name().as_str(), "completed");
    assert_eq!(c.status.name().as_str(), "waiting");
    assert_eq!(
        (&b.parent_id, &b.root_id),
        (&Some(a.id.clone()), &Some(a.id.clone()))
    );
    assert_eq!(
        (&c.parent_id, &c.root_id),
        (&Some(b.id.clone()), &Some(a.id.clone()))
    );
    assert_eq!(c.description, a.description);
    assert_eq!(
        serde_json::to_value(&c.context).unwrap(),
        json!({
            "lead": "123", "score": 2, "notes": ["x\ny"], "_handoff_from": "b", "_handoff_tool": "to_c",
            "_handoff_instructions": "Be c.", "_handoff_chain": ["a", "b"],
        })
    );
    let told = told(&workshop, c);
    for part in [
        "# Context from handoff\n\nlead: 123\nscore: 2\n_handoff_from: b\n_handoff_tool: to_c\n_handoff_chain: [\"a\",\"b\"]\nnotes: [\"x\\ny\"]\n",
        "# Instructions for this hand-off\n\nBe c.\n",
        "user: do it\n\na: a has looked\n\n(a) Routed to b\n\nb: b has called\n\n(b) Routed to c\n",
        "The agent b transferred this task to you",
        "Original message:\n\ndo it\n",
        "- `to_b`: When b must go on.\n  - lead (string, optional)\n",
    ] {
        assert!(told.contains(part), "{part}\nis not in\n{told}");
    }
    assert!(!told.contains("`to_c`"), "nobody passes control to himself");
    let last = ended(&client, last_id(c)).await;
    assert_eq!(last.output.as_str(), "c has closed");
    // Whoever follows the first learns of the others by their events alone.
    let merged = events.until("context_merged", "notes").await;
    assert_eq!(merged["masterTaskId"], json!(a.id));
    assert_eq!(merged["data"]["added"], "notes");
    assert_eq!(
        merged["data"]["replaced"],
        "score, _handoff_from, _handoff_tool, _handoff_instructions, _handoff_chain"
    );
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_and_tree_are_those_of_the_whole_chain() {
    let workshop =
        passing(Workshop::new(), "a", "echo one; call to_b '{}' >answer").agent("b", "echo two");
    let server = workshop.serve(1);
    let client = server.client();
    make_tools(&client, &["b"], json!([])).await;
    let first = begin(&client, "a").await;
    settled(&client, &first).await;
    let child = all_tasks(&client).await.remove(1);
    for id in [&first.id, &child.id] {
        let path = format!("/api/tasks/{id}/conversation");
        let said: Vec<Message> = get(&client, &path).await.data().unwrap();
        let lines: Vec<_> = said
            .iter()
            .map(|message| {
                let agent = message
                    .agent_name
                    .as_ref()
                    .map_or("-", |name| name.as_str());
                format!(
                    "{agent} {} {}",
                    message.message_type.as_str(),
                    message.content
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                "- user_message do it",
                "a assistant_message one",
                "a handoff Routed to b",
                "b assistant_message two"
            ]
        );
        let moved = said[2].data.as_ref().unwrap();
        assert_eq!((moved.to_agent.as_str(), &moved.task_id), ("b", &child.id));
        let path = format!("/api/tasks/{id}/tree");
        let tree: TaskTree = get(&client, &path).await.data().unwrap();
        assert_eq!((&tree.id, tree.children.len()), (&first.id, 1));
        assert_eq!(tree.children[0].handoffs[0].agent_name.as_str(), "b");
        assert_eq!(
            tree.children[0].handoffs[0].outcome,
            Some(Outcome::Completed)
        );
    }
    let path = format!("/api/tasks/{}/messages", child.id);
    let said: Vec<Message> = get(&client, &path).await.data().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_counted_on_one_chain_whichever_door_it_went_through() {
    for (limit, number, words) in [
        ("--max-depth", "3", "limit of 3 tasks deep"),
        ("--max-hops", "2", "limit of 2 hand-offs"),
        ("--max-bounces", "0", "limit of 0 bounces"),
    ] {
        let workshop = waiting_agents(&["a", "b", "c", "d"]);
        let server = workshop.serve_with(4, &["--port", "0", limit, number]);
        let client = server.client();
        make_tools(&client, &["a", "b", "c", "d"], json!([])).await;
        let mut events = Events::listen(&client).await;
        // By a person to a, by a's tool to b, by b's delegation to c, and then one too many.
        let first = begin(&client, "a").await;
        let its = in_its_name(&server, &mut events, &first).await;
        let second = call(&its, &first, "to_b", json!({})).await.unwrap();
        let its = in_its_name(&server, &mut events, &second).await;
        if limit == "--max-bounces" {
            let (status, code, message) = refusal(call(&its, &second, "to_a", json!({})).await);
            assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
            assert!(
                message.contains("a → b → a") && message.contains(words),
                "{message}"
            );
            continue;
        }
        let ask = json!({ "agentName": "c", "prompt": "p" });
        let third = hand_off(&its, &second, &ask).await.unwrap();
        let its = in_its_name(&server, &mut events, &third).await;
        let (status, code, message) = refusal(call(&its, &third, "to_d", json!({})).await);
        assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
        assert!(
            message.contains("a → b → c → d") && message.contains(words),
            "{message}"
        );
        // Who is refused has lost nothing.
        let path = format!("/api/tasks/{}", third.id);
        let third: Task = get(&client, &path).await.data().unwrap();
        assert_eq!(third.current_agent().unwrap().as_str(), "c");
        assert_eq!(workshop.violations(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_transfers_at_once_one_wins_and_the_others_are_told() {
    let workshop = waiting_agents(&["a", "b", "c"]);
    let server = workshop.serve(4);
    let client = server.client();
    make_tools(&client, &["b", "c"], json!([])).await;
    let mut events = Events::listen(&client).await;
    for by_itself in [true, false] {
        let task = begin(&client, "a").await;
        let its = in_its_name(&server, &mut events, &task).await;
        let by = if by_itself { &its } else { &client };
        let calls = (0..40).map(|place| {
            let tool = if place % 2 == 0 { "to_b" } else { "to_c" };
            call(by, &task, tool, json!({}))
        });
        let (won, lost): (Vec<_>, Vec<_>) =
            join_all(calls).await.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 39));
        let child = won.into_iter().next().unwrap().unwrap();
        let agent = child.current_agent().unwrap();
        for lost in lost {
            let (status, code, message) = refusal(lost);
            assert_eq!((status, code.as_str()), (409, "CONFLICT"));
            assert!(
                message.contains(&format!("has already moved to {agent}")),
                "{message}"
            );
        }
        // Also one that comes much later; who was stopped has no say any more.
        let (status, _, message) = refusal(call(&its, &task, "to_b", json!({})).await);
        assert_eq!(status, if by_itself { 409 } else { 401 }, "{message}");
        let path = format!("/api/tasks/{}/handoff/cancel", child.id);
        client
            .send_json(Method::POST, &path, &json!({}))
            .await
            .unwrap();
    }
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_missed_the_answer_asks_again_and_gets_it() {
    let workshop = waiting_agents(&["a", "b"]);
    let server = workshop.serve(4);
    let client = server.client();
    make_tools(&client, &["b"], json!([])).await;
    let mut events = Events::listen(&client).await;
    let task = begin(&client, "a").await;
    let its = in_its_name(&server, &mut events, &task).await;
    let call = async |key: &str| {
        let path = format!("/api/tasks/{}/tools/to_b", task.id);
        let request = its.request(Method::POST, &path).json(&json!({}));
        its.send(request.header("idempotency-key", key)).await
    };
    let first: Task = call("one").await.unwrap().data().unwrap();
    let second: Task = call("one").await.unwrap().data().unwrap();
    assert_eq!(first, second);
    assert_eq!(refusal(call("other").await).0, 409);
    let read = its.get("/api/tasks", &[]).await;
    assert_eq!(refusal(read).0, 409, "it has no say any more");
    assert_eq!(workshop.read("SELECT count(*) FROM tasks"), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_agent_starts_when_the_one_that_passed_control_is_gone() {
    // They share a workspace, in which the first one leaves its pid; it takes its time, or does not go at all.
    let workshop = passing(
        Workshop::new(),
        "polite",
        "echo $$ >pid; call to_next '{}' >answer; sleep 0.3; echo bye",
    );
    let workshop = passing(
        workshop,
        "stubborn",
        "echo $$ >pid; trap '' TERM; call to_next '{}' >answer; while :; do sleep 0.01; done",
    )
    .agent("next", ALONE);
    let server = workshop.serve(4);
    let client = server.client();
    make_tools(&client, &["next"], json!([])).await;
    for agent in ["polite", "stubborn"] {
        let task = begin(&client, agent).await;
        let first = ended(&client, last_id(&task)).await;
        assert_eq!(first.outcome, Some(Outcome::Completed));
        assert_eq!(first.output.as_str(), "Routed to next");
        let next = ended(&client, first.transferred_to.unwrap()).await;
        assert_eq!(next.output.as_str(), "alone", "{agent}");
    }
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_in_the_middle_of_a_chain_goes_on_with_it() {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let wait = format!("read _ <{}", gate.path().display());
    // The first passes control and does not go; the second waits for the test; the third ends.
    let workshop = passing(
        workshop,
        "a",
        "call to_b '{\"n\": 1}' >answer; echo passed; exec sleep 600",
    );
    let workshop = passing(
        workshop,
        "b",
        &format!("echo b works; {wait}; call to_c '{{\"n\": 2}}' >answer"),
    )
    .agent("c", "echo c ends");
    let port = crate::support::own_port();
    let serve = || workshop.serve_with(1, &["--port", &port, "--grace-seconds", "600"]);
    let server = serve();
    let client = server.client();
    make_tools(
        &client,
        &["b", "c"],
        json!([{ "name": "n", "type": "number" }]),
    )
    .await;
    let first = begin(&client, "a").await;
    assert_eq!(
        ended(&client, last_id(&first)).await.output.as_str(),
        "Routed to b"
    );
    // The first is still there, so the second has not begun: the next server ends the one and begins the other.
    server.kill();
    let server = serve();
    let mut events = Events::listen(&client).await;
    events.until("message_added", "b works").await;
    server.kill();
    // Its token is good for the server that comes after.
    let server = serve();
    gate.let_one_through();
    settled(&client, &first).await;
    let tasks = all_tasks(&client).await;
    let [_, b, c] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    assert_eq!(b.context.0["n"], json!(1));
    assert_eq!(c.context.0["n"], json!(2));
    assert_eq!(c.context.0["_handoff_chain"], json!(["a", "b"]));
    assert_eq!(ended(&client, last_id(c)).await.output.as_str(), "c ends");
    drop(server);
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_hands_over_only_its_own_task_and_makes_no_tools() {
    let workshop = waiting_agents(&["a", "b", "c"]);
    let server = workshop.serve(4);
    let client = server.client();
    make_tools(&client, &["c"], json!([])).await;
    let mut events = Events::listen(&client).await;
    let (mine, other) = (begin(&client, "a").await, begin(&client, "b").await);
    let its = in_its_name(&server, &mut events, &mine).await;
    assert_eq!(refusal(call(&its, &other, "to_c", json!({})).await).0, 403);
    let below = hand_off(&its, &mine, &json!({ "agentName": "b", "prompt": "p" }))
        .await
        .unwrap();
    assert_eq!(refusal(call(&its, &below, "to_c", json!({})).await).0, 403);
    for (method, path) in [
        (Method::POST, "/api/tools"),
        (Method::PUT, "/api/tools/to_c"),
        (Method::DELETE, "/api/tools/to_c"),
    ] {
        let tool = json!({ "name": "to_c", "description": "d", "targetAgent": "c" });
        let (status, code, _) = refusal(its.send_json(method, path, &tool).await);
        assert_eq!((status, code.as_str()), (403, "FORBIDDEN"), "{path}");
    }
    let limited =
        json!({ "name": "to_b", "description": "d", "targetAgent": "b", "allowedAgents": ["c"] });
    client
        .send_json(Method::POST, "/api/tools", &limited)
        .await
        .unwrap();
    let (status, _, message) = refusal(call(&its, &mine, "to_b", json!({})).await);
    assert_eq!(
        (status, message.as_str()),
        (403, "a may not use to_b; it is for c")
    );
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_an_agent_that_passes_control_occupies_no_slot() {
    let workshop = Workshop::new().agent(
        "asker",
        "printf 'I was told: '; chorus handoff $CHORUS_TASK_ID first 'what is it?'",
    );
    let workshop = passing(workshop, "first", "call to_second '{}' >answer");
    let workshop =
        passing(workshop, "second", "call to_third '{}' >answer").agent("third", "echo the answer");
    // One slot is enough for all four.
    let server = workshop.serve(1);
    let client = server.client();
    make_tools(&client, &["second", "third"], json!([])).await;
    let asker = begin(&client, "asker").await;
    let asker = ended(&client, last_id(&asker)).await;
    assert_eq!(asker.output.as_str(), "I was told: the answer");
    workshop.until_quiet();
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_says_to_its_target_is_for_that_one_only() {
    let workshop = passing(
        Workshop::new(),
        "a",
        "call to_b '{\"lead\": \"123\"}' >answer",
    )
    .agent("b", "chorus handoff $CHORUS_TASK_ID c 'and you?'")
    .agent("c", "echo c")
    .agent("d", "echo d");
    let server = workshop.serve(1);
    let client = server.client();
    make_tools(
        &client,
        &["b"],
        json!([{ "name": "lead", "type": "string" }]),
    )
    .await;
    settled(&client, &begin(&client, "a").await).await;
    let tasks = all_tasks(&client).await;
    let [_, of_b, of_c] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    assert!(told(&workshop, of_b).contains("Be b."));
    // Whoever comes by another door has the variables, and nothing that was said to another.
    let ask = json!({ "agentName": "d", "prompt": "p" });
    let of_d = hand_off(&client, of_b, &ask).await.unwrap();
    ended(&client, last_id(&of_d)).await;
    for task in [of_c, &of_d] {
        let told = told(&workshop, task);
        assert!(told.contains("lead: 123\n"), "{told}");
        assert!(
            !told.contains("Be b.") && !told.contains("_handoff"),
            "{told}"
        );
    }
}
