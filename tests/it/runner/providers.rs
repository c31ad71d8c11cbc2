//! The input that each provider's program gets and the result that is read from its output, with fake programs.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chorus::client::ClientError;
use chorus::domain::{Handoff, Outcome};
use serde_json::{Value, json};

use super::{expect_refusal, fixture};
use crate::support::{
    Sandbox, create_task, hand_off, invariants, last_handoff_id, run_agent, wait_for_end,
};

/// Records its arguments, environment, folder and input, prints a fixture and exits with a code.
const FAKE_PROGRAM: &str = r#"for argument in "$@"; do printf '%s\0' "$argument"; done >"$RECORD/arguments"
env -0 >"$RECORD/environment"
pwd >"$RECORD/folder"
cat >"$RECORD/input"
while [ $# -gt 0 ]; do
    [ "$1" = --append-system-prompt-file ] && cp "$2" "$RECORD/system"
    shift
done
cat "$FIXTURE"
exit "${CODE:-0}""#;

/// The input that a fake program recorded.
struct Record {
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    folder: String,
    input: String,
}

fn split_at_nul(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

impl Record {
    fn read(folder: &Path) -> Self {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let variables = split_at_nul(&folder.join("environment"));
        let variables = variables.iter().map(|line| line.split_once('=').unwrap());
        Self {
            arguments: split_at_nul(&folder.join("arguments")),
            environment: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            folder: text("folder").trim_end().to_owned(),
            input: text("input"),
        }
    }
}

/// Adds the agent `player`, whose program prints a fixture.
fn with_fake_program(program: &str, output: &str, more: &Value) -> Sandbox {
    let sandbox = Sandbox::new().with_program(program, FAKE_PROGRAM);
    let record = sandbox.path("record");
    std::fs::create_dir(&record).unwrap();
    let provider = if program == "claude" {
        "claude-code"
    } else {
        program
    };
    let mut agent = json!({
        "provider": provider,
        "specPath": "agents/developer.md",
        "environment": { "FIXTURE": fixture(output), "RECORD": record },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        if key == "code" {
            agent["environment"]["CODE"] = value.clone();
        } else {
            agent[key] = value.clone();
        }
    }
    sandbox.with_configured_agent("player", &agent)
}

async fn run_player(sandbox: &Sandbox) -> (Handoff, Record) {
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "player").await;
    sandbox.wait_until_no_process();
    (handoff, Record::read(&sandbox.path("record")))
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_gets_its_tools_its_permissions_its_spec_and_the_prompt() {
    let sandbox = with_fake_program(
        "claude",
        "claude-stream-text-then-tool.jsonl",
        &json!({
            "allowedTools": "Bash(git (log) *) Edit Read(*) Bash(ls)",
            "permissionMode": "acceptEdits",
            "model": "opus",
            "arguments": ["--max-turns", "7"],
        }),
    );
    let (handoff, record) = run_player(&sandbox).await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    assert!(
        handoff.output.as_str().starts_with("tool said:"),
        "{}",
        handoff.output
    );
    assert!(handoff.usage.as_ref().unwrap()["turns"].as_u64() > Some(0));
    assert!(handoff.cost_usd.is_some());
    let system = sandbox.run_dir(&handoff).join("system.md");
    assert_eq!(
        record.arguments,
        [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--tools",
            "Bash,Edit,Read",
            "--allowedTools",
            "Bash(git (log) *) Edit Read(*) Bash(ls) Bash(chorus *) Bash(scripts/agent/handoff.sh *)",
            "--permission-mode",
            "acceptEdits",
            "--setting-sources",
            "user",
            "--strict-mcp-config",
            "--append-system-prompt-file",
            system.to_str().unwrap(),
            "--model",
            "opus",
            "--max-turns",
            "7",
        ]
    );
    let system_prompt = std::fs::read_to_string(sandbox.path("record").join("system")).unwrap();
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/developer.md");
    assert_eq!(system_prompt, std::fs::read_to_string(spec).unwrap());
    assert!(record.input.ends_with("\ndo it\n"), "{}", record.input);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_gets_only_its_own_variables_of_chorus() {
    let sandbox = with_fake_program("claude", "claude-stream-bash.jsonl", &json!({}));
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let prompt = "/help me with @/etc/passwd, @Override and 'quotes', $HOME, `ticks`, ünï";
    let body = json!({ "agentName": "player", "prompt": prompt, "reason": "because" });
    let task = hand_off(&client, &task, &body).await.unwrap();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    let record = Record::read(&sandbox.path("record"));

    let tools = record
        .arguments
        .iter()
        .position(|argument| argument == "--tools")
        .unwrap();
    assert_eq!(
        record.arguments[tools + 1],
        "Read,Glob,Grep,Edit,Write,Bash"
    );
    assert_eq!(record.arguments[tools + 5], "bypassPermissions");

    // Claude Code would read a mentioned file; an invisible character prevents that.
    let plain = prompt.replace("@/etc", "\u{2060}@/etc");
    assert!(record.input.contains(&plain) && record.input.contains("because"));
    assert!(
        !record.input.starts_with('/'),
        "the prompt is not a slash command"
    );
    let everything = record.arguments.join(" ");
    assert!(
        !everything.contains("Override"),
        "the prompt is in the arguments: {everything}"
    );

    let mut own: Vec<_> = record
        .environment
        .iter()
        .filter(|(name, _)| name.starts_with("CHORUS_"))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let token = own.remove(4);
    assert_eq!(token.0, "CHORUS_TOKEN");
    assert!(token.1.len() >= 32 && !everything.contains(token.1));
    let mark = own.remove(2);
    let run_id = handoff.run.as_ref().unwrap().id.as_str();
    assert!(
        mark.0 == "CHORUS_RUN" && mark.1.ends_with(run_id),
        "{mark:?}"
    );
    assert_eq!(
        own,
        [
            ("CHORUS_AGENT", "player"),
            ("CHORUS_HANDOFF_ID", handoff.id.as_str()),
            ("CHORUS_TASK_ID", task.id.as_str()),
            ("CHORUS_URL", server.url.as_str()),
        ]
    );
    let trace = handoff.id.as_str().replace('-', "");
    assert!(record.environment["TRACEPARENT"].starts_with(&format!("00-{trace}-")));
    let binary = Path::new(env!("CARGO_BIN_EXE_chorus")).parent().unwrap();
    let path = &record.environment["PATH"];
    assert!(path.starts_with(binary.to_str().unwrap()), "{path}");
    let workspace = sandbox.data_dir.join("workspaces").join(task.id.as_str());
    assert_eq!(record.folder, workspace.to_str().unwrap());
    // The token is only in the run's directory, which only its owner can read.
    assert_eq!(
        sandbox.query(&format!(
            "SELECT count(*) FROM events WHERE data LIKE '%{}%'",
            token.1
        )),
        "0"
    );
    let mode = sandbox
        .run_dir(&handoff)
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_opencode_and_gemini_are_started_with_their_own_arguments() {
    for (program, output, more, expected) in [
        (
            "codex",
            "codex-json-text-then-tool.jsonl",
            json!({ "model": "o9", "permissionMode": "plan", "arguments": ["--oss"] }),
            vec![
                "exec",
                "--json",
                "--skip-git-repo-check",
                "-c",
                "default_permissions=\"chorus\"",
                "-c",
                "permissions.chorus.filesystem={\":root\"=\"read\"}",
                "-c",
                "permissions.chorus.network={enabled=true}",
                "-c",
                "allow_login_shell=false",
                "-m",
                "o9",
                "--oss",
                "-",
            ],
        ),
        (
            "opencode",
            "opencode-json-text-then-tool.jsonl",
            json!({ "model": "a/b", "arguments": ["--share"] }),
            vec![
                "run",
                "--format",
                "json",
                "--print-logs",
                "--log-level",
                "ERROR",
                "--auto",
                "-m",
                "a/b",
                "--share",
            ],
        ),
        (
            "gemini",
            "gemini-stream-text-then-tool.jsonl",
            json!({ "model": "pro", "arguments": ["-d"] }),
            vec!["-o", "stream-json", "--yolo", "-m", "pro", "-d"],
        ),
    ] {
        let sandbox = with_fake_program(program, output, &more);
        let (handoff, record) = run_player(&sandbox).await;
        assert_eq!(
            handoff.outcome,
            Some(Outcome::Completed),
            "{program}: {}",
            handoff.output
        );
        assert!(
            !handoff.output.as_str().contains("interim"),
            "{program}: {}",
            handoff.output
        );
        assert_eq!(record.arguments, expected, "{program}");
        // These programs take no spec file, so the spec precedes the prompt.
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/developer.md");
        let spec = std::fs::read_to_string(spec).unwrap();
        assert!(
            record.input.starts_with(&spec) && record.input.ends_with("\ndo it\n"),
            "{program}"
        );
        assert_eq!(record.environment["CHORUS_AGENT"], "player");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_program_is_a_failure_with_a_reason() {
    for (program, output, expected) in [
        (
            "claude",
            "claude-nokey.json",
            "Log in with the agent's program",
        ),
        ("claude", "claude-max-turns.json", "turns"),
        ("codex", "codex-error-400.jsonl", ""),
        ("opencode", "opencode-error-400.jsonl", ""),
    ] {
        let sandbox = with_fake_program(program, output, &json!({ "code": "1" }));
        let (handoff, _) = run_player(&sandbox).await;
        assert_eq!(handoff.outcome, Some(Outcome::Failed), "{output}");
        assert!(
            handoff.output.as_str().contains(expected),
            "{output}: {}",
            handoff.output
        );
        assert!(!handoff.output.is_blank(), "{output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_continues_the_last_session_of_this_agent_on_this_task() {
    let sandbox = with_fake_program("claude", "claude-stream-bash.jsonl", &json!({}))
        .with_agent("other", "echo nothing to resume");
    let server = sandbox.serve(1);
    let client = server.client();
    let task = create_task(&client).await;
    let resume = json!({ "agentName": "player", "prompt": "go on", "resume": true });
    let refused = hand_off(&client, &task, &resume).await;
    assert!(
        matches!(&refused, Err(ClientError::Refused { status, .. }) if status.as_u16() == 409),
        "{refused:?}"
    );
    let first = json!({ "agentName": "player", "prompt": "begin" });
    let begun = hand_off(&client, &task, &first).await.unwrap();
    wait_for_end(&client, last_handoff_id(&begun)).await;
    let session = sandbox.query("SELECT session_id FROM runs");
    assert!(
        !Record::read(&sandbox.path("record"))
            .arguments
            .contains(&"--resume".to_owned())
    );
    // The session belongs to this agent; another agent worked last.
    let other = json!({ "agentName": "other", "prompt": "p" });
    let other = hand_off(&client, &task, &other).await.unwrap();
    wait_for_end(&client, last_handoff_id(&other)).await;
    let resumed = hand_off(&client, &task, &resume).await.unwrap();
    let handoff = wait_for_end(&client, last_handoff_id(&resumed)).await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    let arguments = Record::read(&sandbox.path("record")).arguments;
    let place = arguments
        .iter()
        .position(|argument| argument == "--resume")
        .unwrap();
    assert_eq!(arguments[place + 1], session);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_session_that_looks_like_an_option_is_never_an_argument() {
    let sandbox = with_fake_program("claude", "claude-stream-bash.jsonl", &json!({}));
    let server = sandbox.serve(1);
    let client = server.client();
    let first = json!({ "agentName": "player", "prompt": "begin" });
    let task = hand_off(&client, &create_task(&client).await, &first).await;
    let task = task.unwrap();
    wait_for_end(&client, last_handoff_id(&task)).await;
    // An earlier version stored every id.
    let database = invariants::open(&sandbox.data_dir.join("chorus.db"));
    let spoil = |column: &str, condition: &str| {
        let spoil = format!(
            "UPDATE runs SET {column} = '--dangerously-skip-permissions' WHERE {condition}"
        );
        let spoilt = database.execute(&spoil, []);
        assert_eq!(spoilt.unwrap(), 1);
    };
    spoil("session_id", "session_id IS NOT NULL");
    let resume = json!({ "agentName": "player", "prompt": "go on", "resume": true });
    let refused = expect_refusal(hand_off(&client, &task, &resume).await);
    assert_eq!(
        (refused.0, refused.2.as_str()),
        (
            409,
            "Agent player's last session on this task cannot be resumed: its id is not one that a program makes. Start without `resume`"
        )
    );
    drop(server);
    let record = sandbox.path("record").join("arguments");
    std::fs::remove_file(&record).unwrap();
    let queuing = sandbox.serve(0);
    let task = hand_off(&queuing.client(), &task, &first).await.unwrap();
    spoil("resumes", "state = 'queued'");
    drop(queuing);
    let server = sandbox.serve(1);
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    assert_eq!(
        handoff.output.as_str(),
        "The session to resume is unusable: its id must begin with a letter or a digit. Hand off again without `resume`."
    );
    assert!(!record.exists());
}
