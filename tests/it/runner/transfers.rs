//! Agents that transfer their task with a tool.

use chorus::client::{Client, ClientError, Reply};
use chorus::domain::{Message, Outcome, Task, TaskTree};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{client_of_run, expect_refusal, waiting_agents};
use crate::support::{
    Events, Sandbox, Server, hand_off, last_handoff_id, start_handoff, wait_for_end,
};

/// Defines `call TOOL ARGUMENTS` for the scripts of agents.
const CALL: &str = r#"call() { curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/tools/$1" -d "$2"; }
"#;

/// Prints whether the agent that left its pid in the workspace is still alive.
const ALONE: &str =
    "if kill -0 $(cat pid) 2>/dev/null; then echo both are here; else echo alone; fi";

/// Adds an agent whose script can call tools.
fn with_calling_agent(sandbox: Sandbox, name: &str, script: &str) -> Sandbox {
    sandbox.with_agent(name, &format!("{CALL}{script}"))
}

/// Creates the tool `to_TARGET` for each target.
async fn create_tools(server: &Server, targets: &[&str], variables: Value) {
    for target in targets {
        let tool = json!({
            "name": format!("to_{target}"), "description": format!("When {target} must go on."),
            "targetAgent": target, "contextVariables": variables, "handoffInstructions": format!("Be {target}."),
        });
        server
            .operator()
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
async fn wait_until_settled(client: &Client, task: &Task) -> Task {
    let query = [("wait", "settled".to_owned()), ("timeout", "60".to_owned())];
    let path = format!("/api/tasks/{}", task.id);
    client.get(&path, &query).await.unwrap().data().unwrap()
}

async fn all_tasks(client: &Client) -> Vec<Task> {
    get(client, "/api/tasks").await.data().unwrap()
}

/// Reads the prompt of the last run of a task.
fn last_prompt(sandbox: &Sandbox, task: &Task) -> String {
    let run = sandbox.query(&format!(
        "SELECT r.id FROM runs r JOIN handoffs h ON h.number = r.handoff_number JOIN tasks t ON t.number = h.task_number
          WHERE t.id = '{}' ORDER BY r.number DESC LIMIT 1",
        task.id
    ));
    let prompt = sandbox.data_dir.join("runs").join(run).join("prompt.txt");
    std::fs::read_to_string(prompt).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn control_passes_from_a_to_b_to_c_and_the_context_accumulates() {
    let sandbox = with_calling_agent(
        Sandbox::new(),
        "a",
        r#"echo 'a has looked'; call to_b '{"lead": "123", "score": 1}' >answer"#,
    );
    let sandbox = with_calling_agent(
        sandbox,
        "b",
        r#"echo 'b has called'; call to_c '{"score": 2, "notes": ["x\ny"]}' >answer"#,
    )
    .with_agent("c", "echo 'c has closed'");
    // One slot is enough: an agent that transferred its task is gone.
    let server = sandbox.serve(1);
    let client = server.client();
    let variables = json!([
        { "name": "lead", "type": "string" }, { "name": "score", "type": "number", "required": true },
        { "name": "notes", "type": "array" },
    ]);
    create_tools(&server, &["b", "c"], variables).await;
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let first = wait_until_settled(&client, &first).await;
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
    let prompt = last_prompt(&sandbox, c);
    for part in [
        "# Context from handoff\n\nlead: 123\nscore: 2\n_handoff_from: b\n_handoff_tool: to_c\n_handoff_chain: [\"a\",\"b\"]\nnotes: [\"x\\ny\"]\n",
        "# Instructions for this hand-off\n\nBe c.\n",
        "user:\n> do it\n\na:\n> a has looked\n\na (hand-off):\n> Routed to b\n\nb:\n> b has called\n\nb (hand-off):\n> Routed to c\n",
        "The agent b transferred this task to you",
        "Original message:\n\ndo it\n",
        "- `to_b`: When b must go on.\n  - lead (string, optional)\n",
    ] {
        assert!(prompt.contains(part), "{part}\nis not in\n{prompt}");
    }
    assert!(
        !prompt.contains("`to_c`"),
        "an agent cannot transfer to itself"
    );
    let last = wait_for_end(&client, last_handoff_id(c)).await;
    assert_eq!(last.output.as_str(), "c has closed");
    // A follower of the first task gets the events of the whole chain.
    let merged = events.wait_for("context_merged", "notes").await;
    assert_eq!(merged["masterTaskId"], json!(a.id));
    assert_eq!(merged["data"]["added"], "notes");
    assert_eq!(
        merged["data"]["replaced"],
        "score, _handoff_from, _handoff_tool, _handoff_instructions, _handoff_chain"
    );
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conversation_and_the_tree_cover_the_whole_chain() {
    let sandbox = with_calling_agent(Sandbox::new(), "a", "echo one; call to_b '{}' >answer")
        .with_agent("b", "echo two");
    let server = sandbox.serve(1);
    let client = server.client();
    create_tools(&server, &["b"], json!([])).await;
    let first = start_handoff(&client, "a").await;
    wait_until_settled(&client, &first).await;
    let child = all_tasks(&client).await.remove(1);
    for id in [&first.id, &child.id] {
        let path = format!("/api/tasks/{id}/conversation");
        let messages: Vec<Message> = get(&client, &path).await.data().unwrap();
        let lines: Vec<_> = messages
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
        let moved = messages[2].data.as_ref().unwrap();
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
    let messages: Vec<Message> = get(&client, &path).await.data().unwrap();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_count_delegations_and_transfers_of_one_chain_together() {
    for (limit, number, words) in [
        ("--max-depth", "3", "limit of 3 nested tasks"),
        ("--max-hops", "2", "limit of 2 hand-offs"),
        ("--max-bounces", "0", "limit of 0 bounces"),
    ] {
        let sandbox = waiting_agents(&["a", "b", "c", "d"]);
        let server = sandbox.serve_with(4, &["--port", "0", limit, number]);
        let client = server.client();
        create_tools(&server, &["a", "b", "c", "d"], json!([])).await;
        let mut events = Events::listen(&client).await;
        // A person hands off to a, a transfers to b, b delegates to c, and the next hop is one too many.
        let first = start_handoff(&client, "a").await;
        let run_client = client_of_run(&server, &mut events, &first).await;
        let second = call(&run_client, &first, "to_b", json!({})).await.unwrap();
        let run_client = client_of_run(&server, &mut events, &second).await;
        if limit == "--max-bounces" {
            let (status, code, message) =
                expect_refusal(call(&run_client, &second, "to_a", json!({})).await);
            assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
            assert!(
                message.contains("a → b → a") && message.contains(words),
                "{message}"
            );
            continue;
        }
        let ask = json!({ "agentName": "c", "prompt": "p" });
        let third = hand_off(&run_client, &second, &ask).await.unwrap();
        let run_client = client_of_run(&server, &mut events, &third).await;
        let (status, code, message) =
            expect_refusal(call(&run_client, &third, "to_d", json!({})).await);
        assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
        assert!(
            message.contains("a → b → c → d") && message.contains(words),
            "{message}"
        );
        // A refused transfer changes nothing.
        let path = format!("/api/tasks/{}", third.id);
        let third: Task = get(&client, &path).await.data().unwrap();
        assert_eq!(third.current_agent().unwrap().as_str(), "c");
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_concurrent_transfers_wins_and_the_others_learn_its_agent() {
    let sandbox = waiting_agents(&["a", "b", "c"]);
    let server = sandbox.serve(4);
    let client = server.client();
    create_tools(&server, &["b", "c"], json!([])).await;
    let mut events = Events::listen(&client).await;
    for by_itself in [true, false] {
        let task = start_handoff(&client, "a").await;
        let run_client = client_of_run(&server, &mut events, &task).await;
        let by = if by_itself { &run_client } else { &client };
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
            let (status, code, message) = expect_refusal(lost);
            assert_eq!((status, code.as_str()), (409, "CONFLICT"));
            assert!(
                message.contains(&format!("has already moved to {agent}")),
                "{message}"
            );
        }
        // A later call is refused as well; a stopped run is no longer authorised.
        let (status, _, message) =
            expect_refusal(call(&run_client, &task, "to_b", json!({})).await);
        assert_eq!(status, if by_itself { 409 } else { 401 }, "{message}");
        let path = format!("/api/tasks/{}/handoff/cancel", child.id);
        client
            .send_json(Method::POST, &path, &json!({}))
            .await
            .unwrap();
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_repeats_a_transfer_gets_the_first_answer() {
    let sandbox = waiting_agents(&["a", "b"]);
    let server = sandbox.serve(4);
    let client = server.client();
    create_tools(&server, &["b"], json!([])).await;
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "a").await;
    let run_client = client_of_run(&server, &mut events, &task).await;
    let call = async |key: &str| {
        let path = format!("/api/tasks/{}/tools/to_b", task.id);
        let request = run_client.request(Method::POST, &path).json(&json!({}));
        run_client
            .send(request.header("idempotency-key", key))
            .await
    };
    let first: Task = call("one").await.unwrap().data().unwrap();
    let second: Task = call("one").await.unwrap().data().unwrap();
    assert_eq!(first, second);
    assert_eq!(expect_refusal(call("other").await).0, 409);
    let read = run_client.get("/api/tasks", &[]).await;
    assert_eq!(
        expect_refusal(read).0,
        409,
        "the run is no longer authorised"
    );
    assert_eq!(sandbox.query("SELECT count(*) FROM tasks"), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_agent_starts_after_the_first_has_ended() {
    // The agents share a workspace, in which the first one leaves its pid. It ends slowly, or not at all.
    let sandbox = with_calling_agent(
        Sandbox::new(),
        "polite",
        "echo $$ >pid; call to_next '{}' >answer; sleep 0.3; echo bye",
    );
    let sandbox = with_calling_agent(
        sandbox,
        "stubborn",
        "echo $$ >pid; trap '' TERM; call to_next '{}' >answer; while :; do sleep 0.01; done",
    )
    .with_agent("next", ALONE);
    let server = sandbox.serve(4);
    let client = server.client();
    create_tools(&server, &["next"], json!([])).await;
    for agent in ["polite", "stubborn"] {
        let task = start_handoff(&client, agent).await;
        let first = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(first.outcome, Some(Outcome::Completed));
        assert_eq!(first.output.as_str(), "Routed to next");
        let next = wait_for_end(&client, first.transferred_to.unwrap()).await;
        assert_eq!(next.output.as_str(), "alone", "{agent}");
    }
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_transfers_continues_after_the_server_is_killed() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let wait = format!("read _ <{}", gate.path().display());
    // The first transfers the task and does not end; the second waits for the test; the third ends.
    let sandbox = with_calling_agent(
        sandbox,
        "a",
        "call to_b '{\"n\": 1}' >answer; echo passed; exec sleep 600",
    );
    let sandbox = with_calling_agent(
        sandbox,
        "b",
        &format!("echo b works; {wait}; call to_c '{{\"n\": 2}}' >answer"),
    )
    .with_agent("c", "echo c ends");
    let port = crate::support::reserve_port();
    let serve = || sandbox.serve_with(1, &["--port", &port, "--grace-seconds", "600"]);
    let server = serve();
    let client = server.client();
    create_tools(
        &server,
        &["b", "c"],
        json!([{ "name": "n", "type": "number" }]),
    )
    .await;
    let first = start_handoff(&client, "a").await;
    assert_eq!(
        wait_for_end(&client, last_handoff_id(&first))
            .await
            .output
            .as_str(),
        "Routed to b"
    );
    // The first still runs, so the second has not started. The next server stops the one and starts the other.
    server.kill();
    let server = serve();
    let mut events = Events::listen(&client).await;
    events.wait_for("message_added", "b works").await;
    server.kill();
    // The run's token is valid on the next server.
    let server = serve();
    gate.let_one_through();
    wait_until_settled(&client, &first).await;
    let tasks = all_tasks(&client).await;
    let [_, b, c] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    assert_eq!(b.context.0["n"], json!(1));
    assert_eq!(c.context.0["n"], json!(2));
    assert_eq!(c.context.0["_handoff_chain"], json!(["a", "b"]));
    assert_eq!(
        wait_for_end(&client, last_handoff_id(c))
            .await
            .output
            .as_str(),
        "c ends"
    );
    drop(server);
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_transfers_only_its_own_task_and_creates_no_tools() {
    let sandbox = waiting_agents(&["a", "b", "c"]);
    let server = sandbox.serve(4);
    let client = server.client();
    create_tools(&server, &["c"], json!([])).await;
    let mut events = Events::listen(&client).await;
    let (mine, other) = (
        start_handoff(&client, "a").await,
        start_handoff(&client, "b").await,
    );
    let run_client = client_of_run(&server, &mut events, &mine).await;
    assert_eq!(
        expect_refusal(call(&run_client, &other, "to_c", json!({})).await).0,
        403
    );
    let below = hand_off(
        &run_client,
        &mine,
        &json!({ "agentName": "b", "prompt": "p" }),
    )
    .await
    .unwrap();
    assert_eq!(
        expect_refusal(call(&run_client, &below, "to_c", json!({})).await).0,
        403
    );
    for (method, path) in [
        (Method::POST, "/api/tools"),
        (Method::PUT, "/api/tools/to_c"),
        (Method::DELETE, "/api/tools/to_c"),
    ] {
        let tool = json!({ "name": "to_c", "description": "d", "targetAgent": "c" });
        let (status, code, _) = expect_refusal(run_client.send_json(method, path, &tool).await);
        assert_eq!((status, code.as_str()), (403, "FORBIDDEN"), "{path}");
    }
    let limited =
        json!({ "name": "to_b", "description": "d", "targetAgent": "b", "allowedAgents": ["c"] });
    server
        .operator()
        .send_json(Method::POST, "/api/tools", &limited)
        .await
        .unwrap();
    let (status, _, message) = expect_refusal(call(&run_client, &mine, "to_b", json!({})).await);
    assert_eq!(
        (status, message.as_str()),
        (403, "Agent a may not call tool to_b. Allowed agents: c")
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_a_transfer_occupies_no_slot() {
    let sandbox = Sandbox::new().with_agent(
        "asker",
        "printf 'I was told: '; chorus handoff $CHORUS_TASK_ID first 'what is it?'",
    );
    let sandbox = with_calling_agent(sandbox, "first", "call to_second '{}' >answer");
    let sandbox = with_calling_agent(sandbox, "second", "call to_third '{}' >answer")
        .with_agent("third", "echo the answer");
    // One slot is enough for all four.
    let server = sandbox.serve(1);
    let client = server.client();
    create_tools(&server, &["second", "third"], json!([])).await;
    let asker = start_handoff(&client, "asker").await;
    let asker = wait_for_end(&client, last_handoff_id(&asker)).await;
    assert_eq!(asker.output.as_str(), "I was told: the answer");
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tools_instructions_are_only_for_its_target() {
    let sandbox = with_calling_agent(
        Sandbox::new(),
        "a",
        "call to_b '{\"lead\": \"123\"}' >answer",
    )
    .with_agent("b", "chorus handoff $CHORUS_TASK_ID c 'and you?'")
    .with_agent("c", "echo c")
    .with_agent("d", "echo d");
    let server = sandbox.serve(1);
    let client = server.client();
    create_tools(
        &server,
        &["b"],
        json!([{ "name": "lead", "type": "string" }]),
    )
    .await;
    wait_until_settled(&client, &start_handoff(&client, "a").await).await;
    let tasks = all_tasks(&client).await;
    let [_, of_b, of_c] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    assert!(last_prompt(&sandbox, of_b).contains("Be b."));
    // A hand-off without a tool passes the variables, but not the tool's instructions.
    let ask = json!({ "agentName": "d", "prompt": "p" });
    let of_d = hand_off(&client, of_b, &ask).await.unwrap();
    wait_for_end(&client, last_handoff_id(&of_d)).await;
    for task in [of_c, &of_d] {
        let prompt = last_prompt(&sandbox, task);
        assert!(prompt.contains("lead: 123\n"), "{prompt}");
        assert!(
            !prompt.contains("Be b.") && !prompt.contains("_handoff"),
            "{prompt}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_transfers_as_often_as_it_wants_and_agents_count_from_there() {
    let sandbox = waiting_agents(&["a", "b"]);
    let server = sandbox.serve_with(1, &["--port", "0", "--max-depth", "2", "--max-hops", "3"]);
    let client = server.client();
    create_tools(&server, &["a", "b"], json!([])).await;
    let mut events = Events::listen(&client).await;
    let mut task = start_handoff(&client, "a").await;
    for tool in ["to_b", "to_a"].repeat(4) {
        task = call(&client, &task, tool, json!({})).await.unwrap();
    }
    let chain = task.context.0["_handoff_chain"].as_array().unwrap().len();
    assert_eq!(chain, 8, "{:?}", task.context);
    let run_client = client_of_run(&server, &mut events, &task).await;
    task = call(&run_client, &task, "to_b", json!({})).await.unwrap();
    let run_client = client_of_run(&server, &mut events, &task).await;
    let (status, code, message) = expect_refusal(call(&run_client, &task, "to_a", json!({})).await);
    assert_eq!((status, code.as_str()), (422, "LIMIT_EXCEEDED"));
    assert!(
        message.contains("Chain a → b → a has") && message.contains("2 nested"),
        "{message}"
    );
    // The person goes on.
    call(&client, &task, "to_a", json!({})).await.unwrap();
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_from_outside_is_in_the_conversation_of_the_next_agent_once() {
    let sandbox = Sandbox::new()
        .with_agent("printer", "echo 'It is'; echo 42; exec sleep 600")
        .with_agent("silent", "exec sleep 600")
        .with_agent("reader", "cat");
    create_tools(&sandbox.serve(0), &["reader"], json!([])).await;
    for (max_runs, agent) in [(0, "silent"), (1, "printer")] {
        let server = sandbox.serve(max_runs);
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let task = start_handoff(&client, agent).await;
        if max_runs > 0 {
            events.wait_for("message_added", "42").await;
        }
        let path = format!("/api/tasks/{}/handoff/complete", task.id);
        let body = json!({ "output": "It is\n42\n" });
        client.send_json(Method::PUT, &path, &body).await.unwrap();
        client
            .send_json(Method::PUT, &path, &body)
            .await
            .unwrap_err();
        let path = format!("/api/tasks/{}/messages", task.id);
        let said: Vec<Message> = get(&client, &path).await.data().unwrap();
        let said: Vec<_> = said[1..]
            .iter()
            .flat_map(|said| said.content.as_str().lines())
            .collect();
        assert_eq!(said, ["It is", "42"]);
        drop(server);
        let server = sandbox.serve(1);
        let client = server.client();
        let child = call(&client, &task, "to_reader", json!({})).await.unwrap();
        let handoff = wait_for_end(&client, last_handoff_id(&child)).await;
        let prompt = handoff.output.as_str();
        assert_eq!(prompt.matches("> 42\n").count(), 1, "{prompt}");
        assert!(prompt.contains(&format!("{agent}:\n> It is\n")), "{prompt}");
    }
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_counts_the_tasks_below_and_an_unknown_cost_is_null() {
    let sandbox = with_calling_agent(
        Sandbox::new(),
        "a",
        "chorus handoff c 'and you?' >answer; call to_b '{}' >answer",
    )
    .with_agent("b", "echo b")
    .with_agent("c", "echo c");
    let server = sandbox.serve(1);
    let client = server.client();
    create_tools(&server, &["b"], json!([])).await;
    let first = start_handoff(&client, "a").await;
    wait_until_settled(&client, &first).await;
    let tasks = all_tasks(&client).await;
    let runs = async |task: &Task| {
        let path = format!("/api/tasks/{}/usage", task.id);
        let usage: Value = get(&client, &path).await.data().unwrap();
        assert_eq!(usage["costUsd"], json!(null));
        usage["runs"].clone()
    };
    assert_eq!(runs(&tasks[0]).await, 3);
    assert_eq!(runs(&tasks[1]).await, 1);
    drop(server);
    let ledger = rusqlite::Connection::open(sandbox.data_dir.join("chorus.db")).unwrap();
    ledger
        .execute("UPDATE runs SET cost_usd = 0.5 WHERE number > 1", [])
        .unwrap();
    let server = sandbox.serve(1);
    let path = format!("/api/tasks/{}/usage", first.id);
    let usage: Value = get(&server.client(), &path).await.data().unwrap();
    assert_eq!(usage["costUsd"], 1.0);
}
