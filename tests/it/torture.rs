//! Servers, agents and supervisors are killed at any moment under constant load, while the disk is full, descriptors or processes are
//! missing, or the clock is set.

use std::collections::{HashMap, HashSet};
use std::fmt::{Display, Formatter};
use std::io::Write;
use std::time::{Duration, Instant};

use chorus::client::{Client, ClientError, Reply};
use chorus::domain::{Handoff, HandoffId, Outcome, Task};
use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::support::{
    Injections, Random, Sandbox, Server, env_number, parent_of, reserve_port, variable_of,
};

const WORKERS: usize = 6;
const MAX_RUNS: u32 = 5;

/// How long the workers may take to finish before the test fails instead of hanging.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The pause before a request is repeated that a shortage prevented.
const PAUSE: Duration = Duration::from_millis(20);

/// The longest shortage, in milliseconds.
const SHORTAGE: usize = 400;

/// Agents that notice the failure of their own output: it is on the disk that becomes full.
fn sandbox_with_agents() -> Sandbox {
    Sandbox::on_small_disk()
        .unwrap_or_else(Sandbox::new)
        .with_agent("quick", "echo result $CHORUS_HANDOFF_ID || exit 9")
        .with_agent("slow", "for i in 1 2 3 4; do echo step $i && sleep 0.1 || exit 9; done; echo result $CHORUS_HANDOFF_ID || exit 9")
        .with_agent("loud", "seq 1 5000 && echo result $CHORUS_HANDOFF_ID || exit 9")
        .with_agent("scattering", "setsid sleep 600 & (sleep 600 &) ; sleep 0.05 && echo result $CHORUS_HANDOFF_ID || exit 9")
        .with_agent("failing", "sleep 0.05; echo no >&2; exit 3")
        .with_agent(
            "asking",
            "answer=$(chorus handoff $CHORUS_TASK_ID slow p) || exit 4; echo \"$answer\" && echo result $CHORUS_HANDOFF_ID || exit 9",
        )
        // The shell tool of a model stops the command, and the model runs it again.
        .with_agent(
            "repeating",
            "setsid chorus handoff $CHORUS_TASK_ID slow p >/dev/null & pid=$!; sleep 0.1; kill -s KILL -- -$pid; wait $pid; \
             answer=$(chorus handoff $CHORUS_TASK_ID slow p) || exit 4; echo \"$answer\" && echo result $CHORUS_HANDOFF_ID || exit 9",
        )
        .with_agent("passing", "chorus tool call $CHORUS_TASK_ID to_slow --var from=$CHORUS_HANDOFF_ID || exit 9; echo result $CHORUS_HANDOFF_ID || exit 9")
}

const AGENTS: [&str; 8] = [
    "quick",
    "slow",
    "loud",
    "scattering",
    "failing",
    "asking",
    "repeating",
    "passing",
];

/// The fixed address of the servers, one after the other, and the number of their starts.
#[derive(Clone)]
struct Address {
    url: String,
    starts: watch::Receiver<usize>,
}

impl Address {
    /// Sends a request until it is answered, to the next server if this one dies.
    async fn send(
        &mut self,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<Reply, ClientError> {
        loop {
            self.starts.borrow_and_update();
            let client = Client::new(&self.url, None).unwrap();
            match client.send(request(&client)).await {
                Err(ClientError::Unreachable { .. }) => self.starts.changed().await.unwrap(),
                Err(error) if error.may_pass() => tokio::time::sleep(PAUSE).await,
                answered => return answered,
            }
        }
    }

    /// Posts with an idempotency key, so that repetitions have no effect.
    async fn post(&mut self, path: &str, body: &Value) -> Result<Reply, ClientError> {
        let key = HandoffId::new();
        self.send(|client| {
            let request = client.request(Method::POST, path).json(body);
            request.header("idempotency-key", key.as_str())
        })
        .await
    }
}

/// An ended hand-off, and whether its worker cancelled it.
struct EndedHandoff {
    handoff: Handoff,
    is_cancelled: bool,
    began: Instant,
    ended: Instant,
}

/// Hands off one task after the other, until `enough` is true.
async fn work(
    mut address: Address,
    mut random: Random,
    answered: mpsc::UnboundedSender<()>,
    enough: watch::Receiver<bool>,
) -> Vec<EndedHandoff> {
    let mut ended = Vec::new();
    while !*enough.borrow() {
        let task = address
            .post("/api/tasks", &json!({ "description": "d" }))
            .await;
        let task: Task = task.unwrap().data().unwrap();
        // A task is handed off several times, one after the other.
        for _ in 0..=random.below(3) {
            let began = Instant::now();
            let body = json!({ "agentName": random.one_of(&AGENTS), "prompt": "p" });
            let path = format!("/api/tasks/{}/handoff", task.id);
            let task: Task = address.post(&path, &body).await.unwrap().data().unwrap();
            let _ = answered.send(());
            let handoff_id = task.open_handoff().unwrap().id.clone();
            let is_cancelled = random.once_in(8)
                && address
                    .post(&format!("{path}/cancel"), &json!({}))
                    .await
                    .is_ok();
            let handoff = loop {
                let path = format!("/api/handoffs/{handoff_id}");
                let reply = address
                    .send(|client| client.request(Method::GET, &path).query(&[("wait", 25)]));
                let handoff: Handoff = reply.await.unwrap().data().unwrap();
                if handoff.outcome.is_some() {
                    break handoff;
                }
            };
            let _ = answered.send(());
            ended.push(EndedHandoff {
                handoff,
                is_cancelled,
                began,
                ended: Instant::now(),
            });
        }
    }
    ended
}

/// The injections so far.
#[derive(Debug, Default)]
struct Totals {
    servers: u32,
    stops: u32,
    supervisors: u32,
    agents: u32,
    clocks: u32,
}

impl Display for Totals {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let Self {
            servers,
            stops,
            supervisors,
            agents,
            clocks,
        } = self;
        write!(
            formatter,
            "{servers} servers killed and {stops} stopped, {supervisors} supervisors and {agents} agents killed, clock set {clocks} times"
        )
    }
}

/// Prints the progress also while the test runs: only macros are captured.
fn announce(progress: &str) {
    let line = format!("torture: {progress}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Returns the run in the command line of a supervisor, or the hand-off in the environment of an agent.
fn owner_id(pid: i32, line: &str) -> String {
    if line.contains(" supervise ") {
        return line.trim_end().rsplit('/').next().unwrap().to_owned();
    }
    variable_of(pid, "CHORUS_HANDOFF_ID").unwrap_or_default()
}

/// Kills a random supervisor or first process of an agent, and remembers its run or hand-off.
fn kill_one(
    sandbox: &Sandbox,
    random: &mut Random,
    killed: &mut HashSet<String>,
    totals: &mut Totals,
) {
    let supervisors = sandbox.supervisors();
    let is_first = |pid: &i32| {
        supervisors.contains(pid)
            || parent_of(*pid).is_some_and(|parent| supervisors.contains(&parent))
    };
    let processes = sandbox.processes();
    let processes: Vec<_> = processes.iter().filter(|(pid, _)| is_first(pid)).collect();
    if !processes.is_empty() {
        let (pid, line) = random.one_of(&processes);
        if supervisors.contains(pid) {
            totals.supervisors += 1;
        } else {
            totals.agents += 1;
        }
        killed.insert(owner_id(*pid, line));
        sandbox.kill(*pid);
    }
}

/// Checks that a hand-off ended as its agent's script does, unless it was killed or cancelled, a shortage hit the script itself, or its
/// own child did not complete.
fn assert_outcome(
    ended: &EndedHandoff,
    killed: &HashSet<String>,
    injections: &Injections,
    children: &HashMap<HandoffId, Vec<Handoff>>,
) {
    let EndedHandoff {
        handoff,
        is_cancelled,
        ..
    } = ended;
    let (agent, output) = (handoff.agent_name.as_str(), handoff.output.as_str());
    let was_killed = was_killed(handoff, killed);
    let children = children.get(&handoff.id).map_or(&[][..], Vec::as_slice);
    let child_failed = || {
        let mut failed = children.iter();
        failed.any(|child| child.outcome != Some(Outcome::Completed))
    };
    let result = format!("result {}", handoff.id);
    let details = || {
        format!(
            "{agent} {}: {:?} {output:.300}",
            handoff.id, handoff.outcome
        )
    };
    match handoff.outcome.unwrap() {
        Outcome::Completed => match agent {
            "quick" | "scattering" => assert_eq!(output, result),
            "slow" => assert_eq!(output, format!("step 1\nstep 2\nstep 3\nstep 4\n{result}")),
            "loud" => {
                let lines: Vec<String> = (1..=5000).map(|line| line.to_string()).collect();
                assert!(
                    output == format!("{}\n{result}", lines.join("\n")),
                    "{}",
                    details()
                );
            }
            "asking" | "repeating" => {
                assert!(
                    output.starts_with("step 1\nstep 2\nstep 3\nstep 4\nresult "),
                    "{}",
                    details()
                );
                assert!(output.ends_with(&result), "{}", details());
            }
            // A transfer before the kill counts; without it, the agent has failed.
            "passing" => assert_eq!(output, "Routed to slow"),
            other => panic!("{other} cannot complete"),
        },
        Outcome::Cancelled => assert!(is_cancelled, "{}", details()),
        Outcome::Failed => assert!(
            was_killed
                || agent == "failing"
                || (matches!(agent, "asking" | "repeating")
                    && output.contains("exit code 4")
                    && child_failed())
                || injections.explain(output, ended.began, ended.ended),
            "{}",
            details()
        ),
        Outcome::Interrupted => assert!(was_killed, "{}", details()),
        Outcome::TimedOut => panic!("{}", details()),
    }
}

fn was_killed(handoff: &Handoff, killed: &HashSet<String>) -> bool {
    let run_id = handoff.run.as_ref().map(|run| run.id.as_str());
    killed.contains(handoff.id.as_str()) || run_id.is_some_and(|id| killed.contains(id))
}

/// Checks the outcome of a hand-off that an agent asked for. Its time is not known, but it began after its parent did.
fn assert_child_outcome(
    child: &Handoff,
    parent: &EndedHandoff,
    killed: &HashSet<String>,
    injections: &Injections,
) {
    let output = child.output.as_str();
    let is_explained = match child.outcome.unwrap() {
        Outcome::Completed => output.ends_with(&format!("result {}", child.id)),
        // Cancelling goes down, and so does the end of a parent that waits no longer.
        Outcome::Cancelled => parent.handoff.outcome != Some(Outcome::Completed),
        Outcome::Failed => {
            was_killed(child, killed) || injections.explain(output, parent.began, Instant::now())
        }
        Outcome::Interrupted => was_killed(child, killed),
        Outcome::TimedOut => false,
    };
    assert!(
        is_explained,
        "{} {}: {:?} {output:.300}; its parent {} {}: {:?}",
        child.agent_name,
        child.id,
        child.outcome,
        parent.handoff.agent_name,
        parent.handoff.id,
        parent.handoff.outcome
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hand_off_ends_once_and_no_output_is_lost_whatever_is_killed() {
    let mut random = Random::new();
    let sandbox = sandbox_with_agents();
    let port = reserve_port();
    let start = || sandbox.serve_with(MAX_RUNS, &["--port", &port]);
    let mut server = start();
    let mut injections = Injections::new();
    injections.follow(&server);
    let (starts, watched) = watch::channel(0);
    let (stop, enough) = watch::channel(false);
    let (answered, mut answers) = mpsc::unbounded_channel();
    let address = Address {
        url: server.url.clone(),
        starts: watched,
    };
    let tool = json!({
        "name": "to_slow", "description": "d", "targetAgent": "slow",
        "contextVariables": [{ "name": "from", "type": "string", "required": true }],
    });
    let made = server
        .operator()
        .send_json(Method::POST, "/api/tools", &tool)
        .await;
    made.unwrap();
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            work(
                address.clone(),
                random.fork(),
                answered.clone(),
                enough.clone(),
            )
        })
        .map(tokio::spawn)
        .collect();
    let mut killed = HashSet::new();
    let mut totals = Totals::default();
    let rounds = env_number("CHORUS_CRASH_ROUNDS", 8);
    for round in 1..=rounds {
        for _ in 0..random.below(20) {
            answers.recv().await.unwrap();
        }
        if random.once_in(3) {
            // By up to two hours, forward or back.
            let millis = i64::try_from(random.below(14_400_000)).unwrap() - 7_200_000;
            sandbox.set_clock(millis);
            totals.clocks += 1;
        }
        let shortage = random
            .once_in(2)
            .then(|| injections.make(&sandbox, &server, &mut random));
        if shortage.is_some() {
            let millis = random.below(SHORTAGE) as u64;
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        if random.once_in(3) {
            kill_one(&sandbox, &mut random, &mut killed, &mut totals);
        }
        // Some shortages outlive the server.
        let shortage = shortage.filter(|_| random.once_in(2));
        if random.once_in(4) {
            assert!(server.stop().success());
            totals.stops += 1;
        } else {
            server.kill();
            totals.servers += 1;
        }
        if random.once_in(3) {
            kill_one(&sandbox, &mut random, &mut killed, &mut totals);
        }
        drop(shortage);
        server = start();
        injections.follow(&server);
        starts.send_replace(usize::try_from(round).unwrap());
        if round % 50 == 0 || round == rounds {
            announce(&format!(
                "round {round} of {rounds}: {totals}{}",
                injections.totals()
            ));
        }
    }
    stop.send_replace(true);
    let ended = tokio::time::timeout(TIMEOUT, join_all(workers)).await;
    let ended: Vec<EndedHandoff> = ended
        .expect("a hand-off did not end")
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    let children = children(&sandbox, &mut address.clone()).await;
    assert_idle(&sandbox, server, &address).await;
    announce(&format!("{} hand-offs ended; checking each", ended.len()));
    for handoff in &ended {
        assert_outcome(handoff, &killed, &injections, &children);
        assert_messages(&sandbox, &handoff.handoff);
    }
    let parents = ended.iter();
    let parents = parents.map(|parent| (&parent.handoff.id, parent));
    let parents: HashMap<_, _> = parents.collect();
    for (parent, children) in &children {
        for child in children {
            assert_child_outcome(child, parents[parent], &killed, &injections);
        }
    }
    assert_acknowledged(&sandbox, &ended);
    // No output is recorded twice across the restarts.
    let twice = sandbox.query(
        "SELECT count(*) FROM (SELECT 1 FROM messages WHERE content LIKE 'result %' GROUP BY handoff_number, content HAVING count(*) > 1)",
    );
    assert_eq!(twice, "0");
    announce("every hand-off ended once, and no output is lost");
}

/// Checks that every line of a completed hand-off is a message, once and in order. The thousandth message says that there are more.
fn assert_messages(sandbox: &Sandbox, handoff: &Handoff) {
    let is_plain = ["quick", "slow", "loud", "scattering"].contains(&handoff.agent_name.as_str());
    if !is_plain || handoff.outcome != Some(Outcome::Completed) {
        return;
    }
    let messages = sandbox.query(&format!(
        "SELECT coalesce(group_concat(content, char(10)), '') FROM (
             SELECT m.content FROM handoffs h JOIN messages m ON m.task_number = h.task_number AND m.handoff_number = h.number
              WHERE h.id = '{}' AND m.type = 'assistant_message' ORDER BY m.number)",
        handoff.id
    ));
    let lines = handoff.output.as_str().lines();
    let mut lines: Vec<_> = lines.take(1000).collect();
    if lines.len() == 1000 {
        lines[999] = "[more output in the log]";
    }
    assert!(
        messages == lines.join("\n"),
        "{} {}: {messages}",
        handoff.agent_name,
        handoff.id
    );
}

/// Checks that every acknowledged task and hand-off exists, and no other: a repeated call has no second effect.
fn assert_acknowledged(sandbox: &Sandbox, ended: &[EndedHandoff]) {
    let tasks: HashSet<_> = ended.iter().map(|ended| &ended.handoff.task_id).collect();
    let recorded = sandbox.query("SELECT count(*) FROM tasks WHERE master_number IS NULL");
    assert_eq!(recorded, tasks.len().to_string());
    let recorded = sandbox.query(
        "SELECT count(*) FROM handoffs h JOIN tasks t ON t.number = h.task_number WHERE t.master_number IS NULL",
    );
    assert_eq!(recorded, ended.len().to_string());
}

/// Waits for the hand-offs that agents asked for, and reads them by the hand-off of the asking agent.
async fn children(sandbox: &Sandbox, address: &mut Address) -> HashMap<HandoffId, Vec<Handoff>> {
    let pairs = sandbox.query(
        "SELECT coalesce(group_concat(p.id || ' ' || h.id), '') FROM handoffs h JOIN handoffs p ON p.number = h.from_number",
    );
    let mut children: HashMap<HandoffId, Vec<Handoff>> = HashMap::new();
    for pair in pairs.split_terminator(',') {
        let (parent, child) = pair.split_once(' ').unwrap();
        let path = format!("/api/handoffs/{child}");
        let handoff = loop {
            let reply = address
                .send(|client| client.request(Method::GET, &path).query(&[("wait", 25)]))
                .await;
            let handoff: Handoff = reply.unwrap().data().unwrap();
            if handoff.outcome.is_some() {
                break handoff;
            }
        };
        let parent = HandoffId::parse(parent).unwrap();
        children.entry(parent).or_default().push(handoff);
    }
    children
}

/// Waits until no agent works, including the children of killed agents, and checks the database.
async fn assert_idle(sandbox: &Sandbox, server: Server, address: &Address) {
    let tasks: Vec<Task> = {
        let mut address = address.clone();
        let query = [("status", "active"), ("view", "full")];
        let tasks = address.send(|client| client.request(Method::GET, "/api/tasks").query(&query));
        tasks.await.unwrap().data().unwrap()
    };
    for task in tasks {
        let path = format!("/api/tasks/{}", task.id);
        let query = [("wait", "idle"), ("timeout", "60")];
        let mut address = address.clone();
        let task = address.send(|client| client.request(Method::GET, &path).query(&query));
        let task: Task = task.await.unwrap().data().unwrap();
        assert_eq!(task.current_agent(), None);
    }
    sandbox.wait_until_no_process();
    assert!(server.stop().success());
    for (what, query) in [
        (
            "active tasks",
            "SELECT count(*) FROM tasks WHERE status = 'active'",
        ),
        (
            "open hand-offs",
            "SELECT count(*) FROM handoffs WHERE outcome IS NULL",
        ),
        (
            "delegated tasks that have not ended",
            "SELECT count(*) FROM tasks WHERE is_delegated AND status NOT IN ('completed', 'failed')",
        ),
        (
            "unfinished runs",
            "SELECT count(*) FROM runs WHERE state <> 'ended'",
        ),
    ] {
        assert_eq!(sandbox.query(query), "0", "{what}");
    }
    sandbox.assert_invariants();
}
