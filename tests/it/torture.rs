//! Agents run all the time, and everything dies at any moment: the server, agents, supervisors.

use std::collections::HashSet;
use std::time::Duration;

use chorus::client::{Client, ClientError, Reply};
use chorus::domain::{Handoff, HandoffId, Outcome, Task};
use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::support::{Random, Server, Workshop, env_number, own_port};

const WORKERS: usize = 6;
const MAX_RUNS: u32 = 5;

/// How long the whole may take to come to rest, before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_mins(2);

fn workshop() -> Workshop {
    Workshop::new()
        .agent("quick", "echo result $CHORUS_HANDOFF_ID")
        .agent("slow", "for i in 1 2 3 4; do echo step $i; sleep 0.1; done; echo result $CHORUS_HANDOFF_ID")
        .agent("loud", "seq 1 5000; echo result $CHORUS_HANDOFF_ID")
        .agent("scattering", "setsid sleep 600 & (sleep 600 &) ; sleep 0.05; echo result $CHORUS_HANDOFF_ID")
        .agent("failing", "sleep 0.05; echo no >&2; exit 3")
        .agent(
            "asking",
            "answer=$(chorus handoff $CHORUS_TASK_ID slow p) || exit 4; echo \"$answer\"; echo result $CHORUS_HANDOFF_ID",
        )
        .agent("passing", "chorus tool call $CHORUS_TASK_ID to_slow --var from=$CHORUS_HANDOFF_ID; echo result $CHORUS_HANDOFF_ID")
}

const AGENTS: [&str; 7] = [
    "quick",
    "slow",
    "loud",
    "scattering",
    "failing",
    "asking",
    "passing",
];

/// Where the server is: always at the same place, but not always there. Counts its starts.
#[derive(Clone)]
struct Place {
    url: String,
    starts: watch::Receiver<usize>,
}

impl Place {
    /// Sends a request until it is answered, to the next server if this one dies.
    async fn ask(
        &mut self,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<Reply, ClientError> {
        loop {
            self.starts.borrow_and_update();
            let client = Client::new(&self.url, None).unwrap();
            match client.send(request(&client)).await {
                Err(ClientError::Unreachable { .. }) => self.starts.changed().await.unwrap(),
                answered => return answered,
            }
        }
    }

    /// Sends a request that changes something, once however often it is sent.
    async fn change(&mut self, path: &str, body: &Value) -> Result<Reply, ClientError> {
        let key = HandoffId::new();
        self.ask(|client| {
            let request = client.request(Method::POST, path).json(body);
            request.header("idempotency-key", key.as_str())
        })
        .await
    }
}

/// What a worker did to a hand-off that it had asked for.
struct Asked {
    handoff: Handoff,
    is_cancelled: bool,
}

/// Hands off one task after the other, until it is told to stop.
async fn work(
    mut place: Place,
    mut random: Random,
    answered: mpsc::UnboundedSender<()>,
    enough: watch::Receiver<bool>,
) -> Vec<Asked> {
    let mut asked = Vec::new();
    while !*enough.borrow() {
        let task = place
            .change("/api/tasks", &json!({ "description": "d" }))
            .await;
        let task: Task = task.unwrap().data().unwrap();
        // A task is handed on several times: never two at once.
        for _ in 0..=random.below(3) {
            let body = json!({ "agentName": random.one_of(&AGENTS), "prompt": "p" });
            let path = format!("/api/tasks/{}/handoff", task.id);
            let task: Task = place.change(&path, &body).await.unwrap().data().unwrap();
            let _ = answered.send(());
            let handoff_id = task.open_handoff().unwrap().id.clone();
            let is_cancelled = random.once_in(8)
                && place
                    .change(&format!("{path}/cancel"), &json!({}))
                    .await
                    .is_ok();
            let handoff = loop {
                let path = format!("/api/handoffs/{handoff_id}");
                let reply =
                    place.ask(|client| client.request(Method::GET, &path).query(&[("wait", 25)]));
                let handoff: Handoff = reply.await.unwrap().data().unwrap();
                if handoff.outcome.is_some() {
                    break handoff;
                }
            };
            let _ = answered.send(());
            asked.push(Asked {
                handoff,
                is_cancelled,
            });
        }
    }
    asked
}

/// Finds out which run or hand-off a process belongs to: a supervisor to the run in its command line, an agent to the
/// hand-off in its environment.
fn belongs_to(pid: i32, line: &str) -> String {
    if line.contains(" supervise ") {
        return line.trim_end().rsplit('/').next().unwrap().to_owned();
    }
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let id = environment
        .split('\0')
        .find_map(|variable| variable.strip_prefix("CHORUS_HANDOFF_ID="));
    id.unwrap_or_default().to_owned()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Kills a supervisor or an agent's first process, if there is one.
fn kill_one(workshop: &Workshop, random: &mut Random, touched: &mut HashSet<String>) {
    let supervisors = workshop.supervisors();
    let is_first = |pid: &i32| {
        supervisors.contains(pid)
            || parent(*pid).is_some_and(|parent| supervisors.contains(&parent))
    };
    let processes = workshop.processes();
    let processes: Vec<_> = processes.iter().filter(|(pid, _)| is_first(pid)).collect();
    if !processes.is_empty() {
        let (pid, line) = random.one_of(&processes);
        touched.insert(belongs_to(*pid, line));
        workshop.kill(*pid);
    }
}

/// Checks one hand-off: it ended as its agent does, unless somebody had a hand in it.
fn check(asked: &Asked, touched: &HashSet<String>, any_child_failed: bool) {
    let Asked {
        handoff,
        is_cancelled,
    } = asked;
    let (agent, output) = (handoff.agent_name.as_str(), handoff.output.as_str());
    let run_id = handoff.run.as_ref().unwrap().id.as_str();
    let is_touched = touched.contains(handoff.id.as_str()) || touched.contains(run_id);
    let result = format!("result {}", handoff.id);
    let told = || {
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
                    told()
                );
            }
            "asking" => {
                assert!(
                    output.starts_with("step 1\nstep 2\nstep 3\nstep 4\nresult "),
                    "{}",
                    told()
                );
                assert!(output.ends_with(&result), "{}", told());
            }
            // A call that came before a supervisor was killed counts; one that never came is a failure of the agent's.
            "passing" => assert_eq!(output, "Routed to slow"),
            other => panic!("{other} cannot complete"),
        },
        Outcome::Cancelled => assert!(is_cancelled, "{}", told()),
        Outcome::Failed => assert!(
            is_touched || agent == "failing" || (agent == "asking" && any_child_failed),
            "{}",
            told()
        ),
        Outcome::Interrupted => assert!(is_touched, "{}", told()),
        Outcome::TimedOut => panic!("{}", told()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_dies_every_hand_off_ends_once_and_no_output_is_lost() {
    let mut random = Random::new();
    let workshop = workshop();
    let port = own_port();
    let start = || workshop.serve_with(MAX_RUNS, &["--port", &port]);
    let mut server = start();
    let (starts, watched) = watch::channel(0);
    let (stop, enough) = watch::channel(false);
    let (answered, mut answers) = mpsc::unbounded_channel();
    let place = Place {
        url: server.url.clone(),
        starts: watched,
    };
    let tool = json!({
        "name": "to_slow", "description": "d", "targetAgent": "slow",
        "contextVariables": [{ "name": "from", "type": "string", "required": true }],
    });
    let made = place.clone().change("/api/tools", &tool).await;
    made.unwrap();
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            work(
                place.clone(),
                random.fork(),
                answered.clone(),
                enough.clone(),
            )
        })
        .map(tokio::spawn)
        .collect();
    let mut touched = HashSet::new();
    for round in 1..=env_number("CHORUS_CRASH_ROUNDS", 8) {
        for _ in 0..random.below(20) {
            answers.recv().await.unwrap();
        }
        if random.once_in(3) {
            kill_one(&workshop, &mut random, &mut touched);
        }
        if random.once_in(4) {
            assert!(server.stop().success());
        } else {
            server.kill();
        }
        if random.once_in(3) {
            kill_one(&workshop, &mut random, &mut touched);
        }
        server = start();
        starts.send_replace(usize::try_from(round).unwrap());
    }
    stop.send_replace(true);
    let asked = tokio::time::timeout(PATIENCE, join_all(workers)).await;
    let asked: Vec<Asked> = asked
        .expect("every hand-off ends")
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    at_rest(&workshop, server, &place).await;
    let failed_children = workshop.read(
        "SELECT count(*) FROM handoffs WHERE from_agent IS NOT NULL AND outcome <> 'completed'",
    );
    for one in &asked {
        check(one, &touched, failed_children != "0");
    }
    // What was said once is recorded once, over all the restarts.
    let twice = workshop.read(
        "SELECT count(*) FROM (SELECT 1 FROM messages WHERE content LIKE 'result %' GROUP BY handoff_number, content HAVING count(*) > 1)",
    );
    assert_eq!(twice, "0");
}

/// Checks that all has come to rest, children of agents that were killed as well.
async fn at_rest(workshop: &Workshop, server: Server, place: &Place) {
    let tasks: Vec<Task> = {
        let mut place = place.clone();
        let query = [("status", "active"), ("view", "full")];
        let tasks = place.ask(|client| client.request(Method::GET, "/api/tasks").query(&query));
        tasks.await.unwrap().data().unwrap()
    };
    for task in tasks {
        let path = format!("/api/tasks/{}", task.id);
        let query = [("wait", "idle"), ("timeout", "60")];
        let mut place = place.clone();
        let task = place.ask(|client| client.request(Method::GET, &path).query(&query));
        let task: Task = task.await.unwrap().data().unwrap();
        assert_eq!(task.current_agent(), None);
    }
    workshop.until_quiet();
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
            "runs that go on",
            "SELECT count(*) FROM runs WHERE state <> 'ended'",
        ),
    ] {
        assert_eq!(workshop.read(query), "0", "{what}");
    }
    workshop.assert_invariants();
}
