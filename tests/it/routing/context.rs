//! Context, not memory: what the next agent is told is bounded.

use serde_json::{Value, json};

use super::{blocked, get, increment, make, prompt, report, send};
use crate::support::{Events, Workshop};

/// Returns the block of a prompt that tells what was done before.
fn block(prompt: &str) -> &str {
    let from = prompt.find("# Context from earlier work").unwrap();
    let rest = &prompt[from..];
    let begin = rest.find("```json\n").unwrap() + "```json\n".len();
    let end = rest[begin..].find("\n```").unwrap();
    &rest[begin..begin + end]
}

#[tokio::test]
async fn the_prompt_of_a_later_round_is_no_longer_than_that_of_an_earlier_one() {
    // Everybody says as much as it can, and leaves a new key behind each time.
    let talker = |result: &str| {
        format!(
            r#"id=$(date +%N); noise=$(head -c 6000 /dev/zero | tr '\0' x); echo "$noise"
               echo '{{"result":"{result}","summary":"'"$noise"'","details":"'"$noise"'","agentContext":{{"note'"$id"'":"'"$noise"'","filesModified":["a.rs","'"$noise"'"]}}}}'"#
        )
    };
    let workshop = Workshop::new()
        .specialist("impl", "implementation", &[], &talker("passed"))
        .specialist("tess", "testing", &[], &talker("failed"))
        .specialist("fixer", "fixing", &[], &talker("passed"));
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = blocked(&client, &id).await;
    let mut lengths = Vec::new();
    for stage in ["test", "fix"] {
        let tasks = shown["tasks"].as_array().unwrap().iter();
        let mut of_stage = Vec::new();
        for task in tasks.filter(|task| task["stage"] == stage) {
            let told = prompt(&client, &workshop.data_dir, task).await;
            let carried = block(&told);
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
            of_stage.push(told.len());
        }
        lengths.push(of_stage);
    }
    assert_eq!((lengths[0].len(), lengths[1].len()), (5, 4));
    for of_stage in lengths {
        // The second is the first that is cut as much as all that come after it. Names and numbers differ by a few bytes.
        let (second, last) = (of_stage[1], *of_stage.last().unwrap());
        assert!(last <= second + 16, "{of_stage:?}");
    }
}

#[tokio::test]
async fn what_an_agent_sets_itself_is_carried_on() {
    let setter = r#"curl -s -X PATCH "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID?merge=true" -H "Authorization: Bearer $CHORUS_TOKEN" \
        -d '{"agentContext": {"workCompleted": "The parser", "filesModified": ["src/parser.rs"], "branch": "dates"}}' >/dev/null; echo fine"#;
    let workshop = Workshop::new()
        .specialist("impl", "implementation", &[], setter)
        .specialist("tess", "testing", &[], &report("passed", "Green"));
    let server = workshop.serve_with(2, &["--port", "0", "--context-bytes", "256"]);
    let client = server.client();
    let made = make(&client, &json!({ "description": "d", "agentRole": "implementation", "agentContext": { "workCompleted": "Nothing yet" } })).await;
    let test = json!({ "description": "t", "agentRole": "testing", "dependsOn": [made], "handoffInstructions": { "testCommand": "make test", "notes": "Look twice" } });
    let test = make(&client, &test).await;
    let mut events = Events::listen(&client).await;
    events.until_on(&test, "status_changed", "completed").await;
    let task = get(&client, &format!("/api/tasks/{test}")).await;
    let told = prompt(&client, &workshop.data_dir, &task).await;
    let carried: Value = serde_json::from_str(block(&told)).unwrap();
    assert_eq!(
        carried,
        json!({ "workCompleted": "The parser", "filesModified": ["src/parser.rs"], "branch": "dates", "previousAgent": "impl", "testStatus": "pending" })
    );
    assert!(told.contains("Run the test: make test"), "{told}");
    assert!(told.contains("\"notes\":\"Look twice\""), "{told}");
    assert!(!told.contains("# Conversation so far"), "it starts fresh");
}

#[tokio::test]
async fn a_patch_merges_or_replaces() {
    let workshop = Workshop::new();
    let server = workshop.serve(0);
    let client = server.client();
    let task = make(&client, &json!({ "description": "d" })).await;
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
