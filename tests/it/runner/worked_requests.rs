//! The worked examples of requests and tags, step by step, with the commands that the examples name in ours: research that is waited
//! for, an implementation that nobody waits for, three items at once, and the recovery of a claim whose worker is gone.

use std::path::{Path, PathBuf};

use chorus::domain::{Request, RequestState};
use serde_json::{Value, json};

use super::worked_examples::{get, output_of};
use crate::support::{Chorus, Events, Operator, Sandbox, Server, wait_for_end};
use crate::watching::wait_until;

/// A folder of sessions that a server watches.
struct Sessions {
    sandbox: Sandbox,
    root: PathBuf,
}

impl Sessions {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let root = sandbox.path("sessions");
        std::fs::create_dir(&root).unwrap();
        Self { sandbox, root }
    }

    fn with_agent(self, name: &str, script: &str) -> Self {
        let sandbox = self.sandbox.with_agent(name, script);
        Self { sandbox, ..self }
    }

    async fn serve(&self, max_runs: u32, kinds: &Value) -> (Server, Operator, Events) {
        let root = self.root.to_str().unwrap();
        let arguments = ["--port", "0", "--debounce-seconds", "0", "--watch", root];
        let server = self.sandbox.serve_with(max_runs, &arguments);
        let operator = Operator::of(&server);
        operator.set_kind_rules(kinds).await;
        let events = Events::listen(&operator.client).await;
        (server, operator, events)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// Runs `chorus tag`, which needs no server.
fn tag<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    output_of(Chorus::new(["tag"].into_iter().chain(arguments)))
}

fn wait_for_tag(file: &Path, name: &str) {
    tag(["wait", file.to_str().unwrap(), name, "--timeout", "60"]);
}

async fn request_of(operator: &Operator, events: &mut Events, title: &str) -> Request {
    let event = events.wait_for("request_created", title).await;
    let path = format!("/api/requests/{}", event["requestId"].as_str().unwrap());
    let request = operator.client.get(&path, &[]).await.unwrap();
    request.data().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn research_is_requested_and_waited_for_while_other_work_goes_on() {
    let sessions = Sessions::new();
    let file = sessions.root.join("RESEARCH_REQUEST_MARKET_SIZE.md");
    let path = file.display();
    // 1. Create the request. 2. Start the watcher. 3. Continue. 4. Read the response that the file links.
    let brainstorm = format!(
        r#"chorus request template research | sed 's/the question in one line/How big is the market?/' >'{path}.new'
        mv '{path}.new' '{path}'
        chorus tag wait '{path}' '#done-research' & watcher=$!
        chorus alert create 'Meanwhile I collect names.' >&2
        wait $watcher
        link=$(sed -n '/^## Response/,$ s/.*](\(http[^)]*\)).*/\1/p' '{path}')
        echo "The research says: $(curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$link")""#
    );
    let sessions = sessions
        .with_agent("thinker", &brainstorm)
        .with_agent("gemini", "echo 'Two million.'");
    let kinds = json!([{ "kind": "research", "agent": "gemini", "rank": 2 }]);
    let (server, operator, mut events) = sessions.serve(2, &kinds).await;
    let task = output_of(server.chorus(["task", "create", "Brainstorm"]));
    let started = server.chorus([
        "handoff",
        task.trim(),
        "thinker",
        "Think.",
        "--no-wait",
        "--json",
    ]);
    let started: Value = serde_json::from_str(&output_of(started)).unwrap();
    // The thinker goes on, although nobody has answered.
    let mut alerts = Events::listen(&operator.client).await;
    alerts.wait_for("alert_raised", "Meanwhile").await;
    let request = request_of(&operator, &mut events, "How big is the market?").await;
    assert_eq!(request.state, RequestState::Needs);
    let found = tag(["find", "#needs-research", sessions.root.to_str().unwrap()]);
    assert!(found.contains("RESEARCH_REQUEST_MARKET_SIZE.md"), "{found}");
    output_of(server.chorus(["request", "approve", request.id.as_str()]));
    let chain = started["data"]["agentChain"].as_array().unwrap();
    let end = wait_for_end(&server.client(), chain[0]["id"].as_str().unwrap()).await;
    let answer = end.output.as_str();
    assert!(
        answer.ends_with("The research says: Two million."),
        "{answer}"
    );
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    let states: Vec<_> = done
        .transitions
        .iter()
        .map(|each| each.to.as_str())
        .collect();
    assert_eq!(states, ["needs", "delegated", "claimed", "done"]);
    assert!(read(&file).contains("**Tags**: #done-research #P2\n"));
    sessions.sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_implementation_is_delegated_and_forgotten() {
    let sessions = Sessions::new();
    let file = sessions.write("DEBRIEF.md", "# Cache the lookups\n\nThey are slow.\n");
    let path = file.to_str().unwrap().to_owned();
    let sessions = sessions
        .with_agent(
            "thinker",
            &format!("chorus tag add '{path}' '#needs-implementation' '#P1' '#M' && echo 'Left for later.'"),
        )
        .with_agent("builder", "grep -c '#claimed-implementation' DEBRIEF.md");
    let kinds = json!([{ "kind": "implementation", "agent": "builder", "rank": 4 }]);
    let (server, operator, mut events) = sessions.serve(1, &kinds).await;
    // The thinker does not wait.
    let task = output_of(server.chorus(["task", "create", "Brainstorm"]));
    let answer = server.chorus(["handoff", task.trim(), "thinker", "Think."]);
    assert!(output_of(answer).ends_with("Left for later.\n"));
    let request = request_of(&operator, &mut events, "Cache the lookups").await;
    let weight = (request.priority.as_str(), request.effort.unwrap().as_str());
    assert_eq!(weight, ("P1", "M"));
    assert_eq!(
        tag(["find", "#needs-implementation", &path, "--context"])
            .lines()
            .filter(|line| line.contains("#needs-implementation #P1 #M"))
            .count(),
        1
    );
    // A request waits until a person has approved it, here by an edit of the file.
    assert_eq!(sessions.sandbox.query("SELECT count(*) FROM runs"), "1");
    tag([
        "swap",
        &path,
        "#needs-implementation",
        "#delegated-implementation",
    ]);
    wait_for_tag(&file, "#done-implementation");
    // The builder saw its claim in the file before it began.
    let done = operator.wait_for_state(&request, RequestState::Done).await;
    assert_eq!(done.response.unwrap().as_str(), "1");
    sessions.sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn three_items_of_a_brainstorm_run_in_parallel_by_priority() {
    let sessions = Sessions::new();
    let gate = sessions.sandbox.gate("gate");
    let work = format!("read _ <{}; echo done", gate.path().display());
    let sessions = sessions
        .with_agent("builder", &work)
        .with_agent("chorer", &work);
    let kinds = json!([
        { "kind": "implementation", "agent": "builder", "rank": 4 },
        { "kind": "chores", "agent": "chorer", "rank": 5 },
    ]);
    let (server, operator, mut events) = sessions.serve(2, &kinds).await;
    let file = sessions.write(
        "BRAINSTORM.md",
        "# Ideas\n\n## Action Items\n\
         1. Fix typo in error messages #needs-chores #P2 #S\n\
         2. Refactor auth module #needs-implementation #P1 #M\n\
         3. Update API schema #needs-implementation #P1 #S\n",
    );
    let mut requests = Vec::new();
    for title in ["Fix typo", "Refactor auth", "Update API"] {
        requests.push(request_of(&operator, &mut events, title).await);
    }
    output_of(server.chorus(["request", "approve", "--all"]));
    // The slots are for the two P1 items; the next one is at most queued.
    for _ in 0..2 {
        events.wait_for("run_started", "builder").await;
    }
    assert_eq!(
        sessions.sandbox.query(
            "SELECT group_concat(DISTINCT agent_name) FROM active_runs WHERE state = 'running'"
        ),
        "builder"
    );
    gate.let_one_through();
    events.wait_for("run_started", "chorer").await;
    gate.let_one_through();
    gate.let_one_through();
    for request in &requests {
        operator.wait_for_state(request, RequestState::Done).await;
    }
    wait_until(|| {
        let text = read(&file);
        [
            "1. Fix typo in error messages #done-chores #P2 #S\n",
            "2. Refactor auth module #done-implementation #P1 #M\n",
            "3. Update API schema #done-implementation #P1 #S\n",
        ]
        .iter()
        .all(|line| text.contains(line))
    });
    sessions.sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_worker_is_gone_is_recovered() {
    let dies = "if [ -e died ]; then echo built; else touch died; kill -9 $$; fi";
    let sessions = Sessions::new().with_agent("builder", dies);
    let kinds = json!([
        { "kind": "implementation", "agent": "builder", "rank": 4 },
        { "kind": "fix", "agent": "builder", "rank": 3, "mode": "interactive" },
    ]);
    let (server, operator, mut events) = sessions.serve(1, &kinds).await;
    // The worker dies: the request goes back to the person, and the file says why.
    let file = sessions.write(
        "AUTH.md",
        "# Refactor auth\n\n**Tags**: #delegated-implementation\n",
    );
    let request = request_of(&operator, &mut events, "Refactor auth").await;
    wait_for_tag(&file, "#needs-implementation");
    let text = read(&file);
    let run = sessions.sandbox.query("SELECT id FROM runs");
    let recovery = text.split_once("## Recovery\n").unwrap().1;
    for part in [
        "* **Date**: ",
        "* **Reason**: ",
        &format!("* **Earlier run**: `{run}`\n"),
        "* **Action**: Re-queued ",
    ] {
        assert!(recovery.contains(part), "{part}\nis not in\n{text}");
    }
    // Approved again, it is processed again.
    output_of(server.chorus(["request", "approve", request.id.as_str()]));
    wait_for_tag(&file, "#done-implementation");
    assert_eq!(
        operator
            .wait_for_state(&request, RequestState::Done)
            .await
            .response
            .unwrap()
            .as_str(),
        "built"
    );
    // Workers of another program claim in the files, and are gone. Their claims are found.
    let root = sessions.root.to_str().unwrap().to_owned();
    let mut claimed = Vec::new();
    for (name, title) in [("AGAIN.md", "Begin again"), ("DONE.md", "Only forgotten")] {
        let file = sessions.write(name, &format!("# {title}\n\n**Tags**: #delegated-fix\n"));
        let request = request_of(&operator, &mut events, title).await;
        let path = file.to_str().unwrap().to_owned();
        tag(["swap", &path, "#delegated-fix", "#claimed-fix"]);
        operator
            .wait_for_state(&request, RequestState::Claimed)
            .await;
        // A second worker comes too late.
        let late = Chorus::new(["tag", "swap", &path, "#delegated-fix", "#claimed-fix"]);
        assert_eq!(late.output().status.code(), Some(1));
        claimed.push((path, request));
    }
    let found = tag(["find", "#claimed-fix", &root]);
    assert_eq!(found.lines().count(), 2, "{found}");
    // Option A: re-queue. Option B: the work was done.
    for ((path, request), (name, state)) in claimed.iter().zip([
        ("#needs-fix", RequestState::Needs),
        ("#done-fix", RequestState::Done),
    ]) {
        tag(["swap", path, "#claimed-fix", name]);
        operator.wait_for_state(request, state).await;
    }
    assert_eq!(
        get(&server.client(), "/api/requests?state=claimed").await,
        json!([])
    );
    sessions.sandbox.assert_invariants();
}
