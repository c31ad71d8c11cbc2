//! The context that one agent passes to the next is bounded.

use serde_json::{Value, json};

use super::{
    create_increment, create_task, get, last_prompt, print_report, send, wait_until_blocked,
};
use crate::support::{Events, Sandbox};

/// Returns the JSON block of a prompt with the context of earlier work.
fn context_block(prompt: &str) -> &str {
    let from = prompt.find("# Context from earlier work").unwrap();
    let rest = &prompt[from..];
    let begin = rest.find("```json\n").unwrap() + "```json\n".len();
    let end = rest[begin..].find("\n```").unwrap();
    &rest[begin..begin + end]
}

#[tokio::test]
async fn prompts_do_not_grow_from_round_to_round() {
    // Every agent reports as much as possible, and adds a new key each time.
    let verbose_agent = |result: &str| {
        format!(
            r#"id=$(date +%N); noise=$(head -c 6000 /dev/zero | tr '\0' x); echo "$noise"
               echo '{{"result":"{result}","summary":"'"$noise"'","details":"'"$noise"'","agentContext":{{"note'"$id"'":"'"$noise"'","filesModified":["a.rs","'"$noise"'"]}}}}'"#
        )
    };
    let sandbox = Sandbox::new()
        .with_specialist("impl", "implementation", &[], &verbose_agent("passed"))
        .with_specialist("tess", "testing", &[], &verbose_agent("failed"))
        .with_specialist("fixer", "fixing", &[], &verbose_agent("passed"));
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_blocked(&client, &id).await;
    let mut lengths = Vec::new();
    for stage in ["test", "fix"] {
        let tasks = increment["tasks"].as_array().unwrap().iter();
        let mut of_stage = Vec::new();
        for task in tasks.filter(|task| task["stage"] == stage) {
            let prompt = last_prompt(&client, &sandbox.data_dir, task).await;
            let carried = context_block(&prompt);
            assert!(carried.len() <= 2048, "{} bytes", carried.len());
            let carried: Value = serde_json::from_str(carried).unwrap();
            assert!(
                carried["cut"]
                    .as_str()
                    .unwrap()
                    .contains("chorus task show"),
                "{carried}"
            );
            assert!(carried["previousAgent"].is_string(), "{carried}");
            of_stage.push(prompt.len());
        }
        lengths.push(of_stage);
    }
    assert_eq!((lengths[0].len(), lengths[1].len()), (5, 4));
    for of_stage in lengths {
        // The second prompt is the first that is cut to the limit. Names and numbers differ by a few bytes.
        let (second, last) = (of_stage[1], *of_stage.last().unwrap());
        assert!(last <= second + 16, "{of_stage:?}");
    }
}

#[tokio::test]
async fn context_that_an_agent_sets_is_passed_on() {
    let setter = r#"curl -s -X PATCH "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID?merge=true" -H "Authorization: Bearer $CHORUS_TOKEN" \
        -d '{"agentContext": {"workCompleted": "The parser", "filesModified": ["src/parser.rs"], "branch": "dates"}}' >/dev/null; echo fine"#;
    let sandbox = Sandbox::new()
        .with_specialist("impl", "implementation", &[], setter)
        .with_specialist("tess", "testing", &[], &print_report("passed", "Green"));
    let server = sandbox.serve_with(2, &["--port", "0", "--context-bytes", "256"]);
    let client = server.client();
    let made = create_task(&client, &json!({ "description": "d", "agentRole": "implementation", "agentContext": { "workCompleted": "Nothing yet" } })).await;
    let test = json!({ "description": "t", "agentRole": "testing", "dependsOn": [made], "handoffInstructions": { "testCommand": "make test", "notes": "Look twice" } });
    let test = create_task(&client, &test).await;
    let mut events = Events::listen(&client).await;
    events
        .wait_for_on(&test, "status_changed", "completed")
        .await;
    let task = get(&client, &format!("/api/tasks/{test}")).await;
    let prompt = last_prompt(&client, &sandbox.data_dir, &task).await;
    let carried: Value = serde_json::from_str(context_block(&prompt)).unwrap();
    assert_eq!(
        carried,
        json!({ "workCompleted": "The parser", "filesModified": ["src/parser.rs"], "branch": "dates", "previousAgent": "impl", "testStatus": "pending" })
    );
    assert!(prompt.contains("Run the test: make test"), "{prompt}");
    assert!(prompt.contains("\"notes\":\"Look twice\""), "{prompt}");
    assert!(
        !prompt.contains("# Conversation so far"),
        "the conversation is not passed on"
    );
}

#[tokio::test]
async fn a_patch_merges_or_replaces() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    let client = server.client();
    let task = create_task(&client, &json!({ "description": "d" })).await;
    let path = format!("/api/tasks/{task}");
    let change =
        async |path: &str, body: Value| send(&client, reqwest::Method::PATCH, path, &body).await;
    let all = json!({
        "agentRole": "testing", "specialistTags": ["python", "mcp"], "estimatedDuration": 60, "priority": 1,
        "agentContext": { "previousAgent": "ada", "attempts": 1, "mine": { "x": 1 } },
        "handoffInstructions": { "nextRole": "fixing", "testCommand": "make", "expectedDuration": "15 minutes", "notes": "n", "more": [1] },
    });
    let set = change(&path, all.clone()).await;
    for (key, value) in all.as_object().unwrap() {
        assert_eq!(&set[key], value, "{key}");
    }
    let merged = change(
        &format!("{path}?merge=true"),
        json!({ "agentContext": { "mine": { "y": 2 }, "attempts": null } }),
    )
    .await;
    assert_eq!(
        merged["agentContext"],
        json!({ "previousAgent": "ada", "mine": { "y": 2 } })
    );
    let replaced = change(
        &path,
        json!({ "agentContext": { "mine": 3 }, "agentRole": null }),
    )
    .await;
    assert_eq!(
        (&replaced["agentContext"], &replaced["agentRole"]),
        (&json!({ "mine": 3 }), &json!(null))
    );
    assert_eq!(replaced["estimatedDuration"], 60);
}
