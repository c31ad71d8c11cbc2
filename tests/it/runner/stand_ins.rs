//! Hand-offs from inside each provider's program, with stand-ins that refuse, hide and cut off what the real programs do.

use chorus::domain::{Handoff, Outcome};
use serde_json::{Value, json};

use crate::support::{Sandbox, create_task, hand_off, last_handoff_id, wait_for_end};

const STAND_INS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stand-ins");

const PROGRAMS: [&str; 4] = ["claude", "codex", "opencode", "gemini"];

/// Adds an agent whose program is a stand-in. The agent `child` answers only after the time that the shell tool of a program allows by
/// default.
fn with_stand_in(program: &str, configuration: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let gate = sandbox.path("gate");
    let record = sandbox.path("record");
    std::fs::create_dir(&record).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let mut agent = json!({
        "provider": if program == "claude" { "claude-code" } else { program },
        "program": format!("{STAND_INS}/{program}"),
        "specPath": "agents/developer.md",
        "environment": { "STAND_INS": STAND_INS, "RECORD": record, "GATE": gate },
    });
    for (key, value) in configuration.as_object().unwrap() {
        agent[key] = value.clone();
    }
    let answer = format!("read _ <{}; echo the answer of the child", gate.display());
    sandbox
        .with_configured_agent("parent", &agent)
        .with_agent("child", &answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_each_provider_gets_its_childs_answer_in_every_mode() {
    for program in PROGRAMS {
        for mode in ["plan", "default", "acceptEdits", "bypassPermissions"] {
            let sandbox = with_stand_in(program, &json!({ "permissionMode": mode }));
            let server = sandbox.serve(2);
            let client = server.client();
            let task = create_task(&client).await;
            let prompt = format!("RUN: chorus handoff {} child 'Answer me.'", task.id);
            let body = json!({ "agentName": "parent", "prompt": prompt });
            let task = hand_off(&client, &task, &body).await.unwrap();
            let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
            assert_eq!(
                handoff.outcome,
                Some(Outcome::Completed),
                "{program} {mode}: {}",
                handoff.output
            );
            let output = handoff.output.as_str();
            assert!(
                output.ends_with("the answer of the child"),
                "{program} {mode}: {output}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_each_provider_is_refused_other_commands_where_its_tools_say_so() {
    for program in ["claude", "opencode", "gemini"] {
        let tools = "Read Bash(git diff *)";
        let sandbox = with_stand_in(
            program,
            &json!({ "permissionMode": "default", "allowedTools": tools }),
        );
        let server = sandbox.serve(1);
        let client = server.client();
        let task = create_task(&client).await;
        let body = json!({ "agentName": "parent", "prompt": "RUN: touch evil" });
        let task = hand_off(&client, &task, &body).await.unwrap();
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(
            handoff.output.as_str(),
            "not allowed: touch evil",
            "{program}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_an_older_ledger_that_cannot_be_carried_out_says_why() {
    let tools = json!({ "permissionMode": "default", "allowedTools": "Bash(git diff *)" });
    let sandbox = with_stand_in("codex", &tools);
    let server = sandbox.serve(1);
    let client = server.client();
    let body = json!({ "agentName": "parent", "prompt": "RUN: git diff" });
    let task = hand_off(&client, &create_task(&client).await, &body).await;
    let handoff = wait_for_end(&client, last_handoff_id(&task.unwrap())).await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    assert_eq!(
        handoff.output.as_str(),
        "The permissions of agent parent cannot be carried out: allowedTools: codex cannot limit an agent to certain commands, because its sandbox limits the effects of all commands; add Bash, or use another provider"
    );
    assert!(!sandbox.path("record").join("commands").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_is_shown_although_the_run_completes() {
    let sandbox = with_stand_in("claude", &json!({ "permissionMode": "default" }));
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let prompt = "RUN: chorus handoff \"$CHORUS_TASK_ID\" child 'Answer me.'";
    let command = server.chorus(["handoff", task.id.as_str(), "parent", prompt]);
    let output = tokio::task::block_in_place(|| command.output());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(
        stderr.contains("parent was not allowed to use Bash"),
        "{stderr}"
    );
    let shown = server.chorus(["task", "show", task.id.as_str()]);
    let shown = tokio::task::block_in_place(|| shown.output());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("    was not allowed to use Bash\n"),
        "{shown}"
    );
    let path = format!("/api/tasks/{}/handoffs", task.id);
    let handoffs = client.get(&path, &[]).await.unwrap();
    let handoffs: Vec<Handoff> = handoffs.data().unwrap();
    assert_eq!(handoffs[0].run.as_ref().unwrap().denied_tools, ["Bash"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_of_opencode_is_alone() {
    let sandbox = Sandbox::new();
    let (home, record) = (sandbox.path("home"), sandbox.path("record"));
    let finished = json!({
        "type": "step_finish",
        "part": { "messageID": "m", "reason": "stop", "tokens": {} },
    });
    let text = json!({ "type": "text", "part": { "messageID": "m", "text": "done" } });
    // The database of a user is made by the first command, and only by one.
    let script = format!(
        "cat >/dev/null; echo \"$1\" >>{record}
mkdir -p {home}/.local/share/opencode
if [ \"$1\" = session ]; then : >{home}/.local/share/opencode/opencode.db; exit; fi
[ -e {home}/.local/share/opencode/opencode.db ] || {{ echo 'table session already exists' >&2; exit 1; }}
echo '{text}'; echo '{finished}'",
        record = record.display(),
        home = home.display(),
    );
    let agent = json!({
        "provider": "opencode", "specPath": "agents/developer.md", "environment": { "HOME": home, "XDG_DATA_HOME": home.join(".local/share") },
    });
    let sandbox = sandbox
        .with_program("opencode", &script)
        .with_configured_agent("player", &agent);
    let server = sandbox.serve(3);
    let client = server.client();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(crate::support::start_handoff(&client, "player").await);
    }
    for task in tasks {
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        assert_eq!(handoff.output.as_str(), "done");
    }
    let mut commands: Vec<_> = std::fs::read_to_string(record)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    commands[1..].sort();
    assert_eq!(commands, ["session", "run", "run", "run"]);
}
