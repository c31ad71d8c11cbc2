//! Two worked examples, step by step: a hand-off whose caller waits, and a hand-off by a tool.

use std::path::Path;

use chorus::client::{Client, ClientError};
use reqwest::Method;
use serde_json::{Value, json};

use super::expect_refusal;
use crate::support::{Chorus, Sandbox, Server};

pub(super) async fn get(client: &Client, path: &str) -> Value {
    client.get(path, &[]).await.unwrap().data().unwrap()
}

pub(super) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    body: Value,
) -> Result<Value, ClientError> {
    client.send_json(method, path, &body).await?.data()
}

async fn create(client: &Client, description: &str) -> (String, String) {
    let task = json!({ "description": description });
    let task = send(client, Method::POST, "/api/tasks", task)
        .await
        .unwrap();
    let id = task["id"].as_str().unwrap().to_owned();
    (format!("/api/tasks/{id}"), id)
}

async fn events(client: &Client, task: &str) -> Vec<(String, Value)> {
    let history = get(client, &format!("{task}/history")).await;
    let events = history["events"].as_array().unwrap().iter();
    events
        .map(|event| {
            (
                event["eventType"].as_str().unwrap().to_owned(),
                event["data"].clone(),
            )
        })
        .collect()
}

/// Runs a command to its end and returns its standard output.
pub(super) fn output_of(command: Chorus) -> String {
    let output = command.output();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_is_tracked_from_its_start_to_its_final_message() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let serve = |slots| {
        let command = Chorus::new(["serve", "--port", "0", "--log", "warn", "--max-runs", slots]);
        Server::spawn(&data_dir, command.current_dir(folder.path()))
    };
    // Without slots, the hand-offs of the first part are completed by hand.
    let server = serve("0");
    let client = server.client();
    // The five known agents are there from the start.
    let agents = get(&client, "/api/agents").await;
    let names: Vec<_> = agents
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["name"].clone())
        .collect();
    for name in [
        "developer",
        "developer-review",
        "qa",
        "planner",
        "orchestrator",
    ] {
        assert!(names.contains(&json!(name)), "{names:?}");
    }
    let developer = get(&client, "/api/agents/developer").await;
    assert_eq!(developer["specPath"], "agents/developer.md");
    for key in ["allowedTools", "permissionMode"] {
        assert!(developer[key].is_string(), "{developer}");
    }
    let missing = client.get("/api/agents/unknown", &[]).await;
    assert_eq!(expect_refusal(missing).0, 404);
    // Starting sets the current agent, appends to the chain, and answers at once.
    let (task, id) = create(&client, "Build it").await;
    let body = json!({ "agentName": "developer", "prompt": "Implement the feature described in the task" });
    let path = format!("{task}/handoff");
    let started = send(&client, Method::POST, &path, body.clone())
        .await
        .unwrap();
    assert_eq!(started["currentAgent"], "developer");
    assert_eq!(started["status"], json!({ "type": "active" }));
    let chain = started["agentChain"].as_array().unwrap();
    assert_eq!(chain.len(), 1);
    assert_eq!(
        (&chain[0]["agentName"], &chain[0]["output"]),
        (&json!("developer"), &json!(""))
    );
    assert!(chain[0]["startedAt"].is_i64() && chain[0]["completedAt"].is_null());
    let begun = (
        "agent_handoff_started".to_owned(),
        json!({ "agentName": "developer" }),
    );
    assert!(events(&client, &task).await.contains(&begun));
    let list = client.get("/api/tasks?view=summary", &[]).await.unwrap();
    assert_eq!(
        list.data::<Value>().unwrap()[0]["currentAgent"],
        "developer"
    );
    // One agent at a time, and only a known one.
    let (status, _, message) = expect_refusal(send(&client, Method::POST, &path, body).await);
    assert_eq!(status, 409);
    assert!(
        message.starts_with("Agent already active on task: developer"),
        "{message}"
    );
    let (other, _) = create(&client, "Something else").await;
    let body = json!({ "agentName": "wizard", "prompt": "p" });
    let unknown = send(&client, Method::POST, &format!("{other}/handoff"), body).await;
    let (status, code, message) = expect_refusal(unknown);
    assert_eq!((status, code.as_str()), (400, "UNKNOWN_AGENT"));
    assert!(message.starts_with("Unknown agent: wizard"), "{message}");
    // Planning keeps the hand-off, and completing records the output.
    let plan = json!({ "summary": "A feature", "plan": ["Write it"] });
    let planned = send(&client, Method::PUT, &format!("{task}/planning"), plan)
        .await
        .unwrap();
    assert_eq!(
        (&planned["taskType"], &planned["currentAgent"]),
        (&json!("planned"), &json!("developer"))
    );
    assert_eq!(planned["agentChain"], started["agentChain"]);
    let body = json!({ "output": "It is built." });
    let path = format!("{task}/handoff/complete");
    let ended = send(&client, Method::PUT, &path, body).await.unwrap();
    assert_eq!(
        (&ended["currentAgent"], &ended["status"]),
        (&Value::Null, &json!({ "type": "waiting" }))
    );
    assert_eq!(ended["agentChain"][0]["output"], "It is built.");
    assert!(ended["agentChain"][0]["completedAt"].is_i64());
    let completed = json!({ "agentName": "developer", "outputLength": "12" });
    let completed = ("agent_handoff_completed".to_owned(), completed);
    assert!(events(&client, &task).await.contains(&completed));
    server.stop();
    // With slots: the caller gets the final message, and nothing else, from an agent that works with its own permissions.
    let server = serve("2");
    let client = server.client();
    let script = |text: &str| json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", text], "specPath": "" });
    for (name, text) in [
        (
            "developer",
            "echo 'I look around.' >&2; tail -n 1 | sed 's/^/Done: /'",
        ),
        (
            "orchestrator",
            "chorus handoff developer 'Step 1'; chorus handoff . developer 'Step 2'; chorus handoff $CHORUS_TASK_ID developer 'Step 3'",
        ),
    ] {
        let path = format!("/api/agents/{name}");
        send(&server.operator(), Method::PATCH, &path, script(text))
            .await
            .unwrap();
    }
    let by_script = std::process::Command::new("scripts/agent/handoff.sh")
        .args([id.as_str(), "developer", "Hello"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .env_remove("CHORUS_TOKEN")
        .env("CHORUS_URL", &server.url)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(by_script.stdout).unwrap(),
        "Done: Hello\n"
    );
    let by_program = server.chorus(["handoff", &id, "developer", "Hello again"]);
    assert_eq!(output_of(by_program), "Done: Hello again\n");
    let orchestrated = server.chorus(["handoff", &id, "orchestrator", "Do it all"]);
    assert_eq!(
        output_of(orchestrated),
        "Done: Step 1\nDone: Step 2\nDone: Step 3\n"
    );
    // The chain has every hand-off; nothing was overwritten.
    let task = get(&client, &task).await;
    let outputs: Vec<_> = task["agentChain"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["output"].clone())
        .collect();
    assert_eq!(outputs.len(), 4);
    assert_eq!(
        outputs[..3],
        ["It is built.", "Done: Hello", "Done: Hello again"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_passes_the_conversation_its_context_and_its_instructions_on() {
    let sandbox = Sandbox::new()
        .with_agent(
            "assistant",
            r#"echo 'A qualified lead.'; chorus tool call handoff_to_sdr '{"lead_id": "123", "campaign_type": "outreach"}' >answer"#,
        )
        .with_agent("sdr-agent", "cat")
        .with_agent("translator-agent", "echo translated")
        .with_agent("support-agent", "echo helped");
    let server = sandbox.serve(1);
    let client = server.client();
    for (name, target, description, variables) in [
        (
            "handoff_to_sdr",
            "sdr-agent",
            "Hand off to SDR Agent for sales outreach. Use when a qualified lead needs follow-up.",
            json!([
                { "name": "lead_id", "type": "string", "required": true, "description": "The ID of the lead to hand off" },
                { "name": "campaign_type", "type": "string", "required": false, "description": "Which outreach campaign to add to" },
            ]),
        ),
        (
            "handoff_to_translator",
            "translator-agent",
            "Translate.",
            json!([{ "name": "target_language", "type": "string", "required": true }, { "name": "text", "type": "string", "required": true }]),
        ),
        (
            "handoff_to_support",
            "support-agent",
            "Support.",
            json!([{ "name": "ticket_id", "type": "string", "required": true }, { "name": "priority", "type": "string" }]),
        ),
    ] {
        let tool = json!({
            "name": name, "targetAgent": target, "description": description, "contextVariables": variables,
            "handoffInstructions": "Additional context for the target agent",
        });
        send(&server.operator(), Method::POST, "/api/tools", tool)
            .await
            .unwrap();
    }
    // The model sees each tool as a function.
    let tools = get(&client, "/api/agents/assistant/tools").await;
    let tools = tools.as_array().unwrap();
    assert_eq!(tools.len(), 3);
    let sdr = tools
        .iter()
        .find(|tool| tool["function"]["name"] == "handoff_to_sdr")
        .unwrap();
    assert_eq!(sdr["type"], "function");
    assert_eq!(
        sdr["function"]["parameters"],
        json!({
            "type": "object",
            "properties": {
                "lead_id": { "type": "string", "description": "The ID of the lead to hand off" },
                "campaign_type": { "type": "string", "description": "Which outreach campaign to add to" },
            },
            "required": ["lead_id"],
        })
    );
    let description = sdr["function"]["description"].as_str().unwrap();
    assert!(
        description.starts_with("Hand off to SDR Agent for sales outreach."),
        "{description}"
    );
    let (task, id) = create(&client, "Follow up the new leads").await;
    let answer = server.chorus(["handoff", &id, "assistant", "A lead has written to us"]);
    let prompt = output_of(answer);
    // The target gets the message, the context, the conversation and the instructions.
    for part in [
        "# Context from handoff\n\n",
        "\nlead_id: 123\n",
        "\ncampaign_type: outreach\n",
        "Additional context for the target agent",
        "> A qualified lead.\n",
        "A lead has written to us\n",
    ] {
        assert!(prompt.contains(part), "{part:?}\nis not in\n{prompt}");
    }
    // The task is completed; a child task with the merged context goes on.
    assert_eq!(
        get(&client, &task).await["status"],
        json!({ "type": "completed" })
    );
    let tasks = get(&client, "/api/tasks").await;
    let child = &tasks.as_array().unwrap()[1];
    assert_eq!(
        (&child["parentId"], &child["masterTaskId"]),
        (&json!(id), &json!(id))
    );
    assert_eq!(
        child["context"],
        json!({
            "lead_id": "123", "campaign_type": "outreach", "_handoff_from": "assistant", "_handoff_tool": "handoff_to_sdr",
            "_handoff_instructions": "Additional context for the target agent", "_handoff_chain": ["assistant"],
        })
    );
    assert_eq!(child["agentChain"][0]["agentName"], "sdr-agent");
    // The conversation shows where it went.
    let messages = get(&client, &format!("{task}/conversation")).await;
    let moved = messages
        .as_array()
        .unwrap()
        .iter()
        .find(|message| message["type"] == "handoff");
    let moved = moved.unwrap();
    assert_eq!(moved["content"], "Routed to sdr-agent");
    assert_eq!(
        moved["data"]["variables"],
        json!({ "lead_id": "123", "campaign_type": "outreach" })
    );
    // A required variable must be there.
    let (other, _) = create(&client, "Another lead").await;
    let path = format!("{other}/tools/handoff_to_sdr");
    let refused = send(
        &client,
        Method::POST,
        &path,
        json!({ "campaign_type": "outreach" }),
    )
    .await;
    let (status, _, message) = expect_refusal(refused);
    assert_eq!(status, 400);
    assert!(message.contains("lead_id"), "{message}");
}
