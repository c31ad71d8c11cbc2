//! Requests in the ledger, without the API.

use std::sync::atomic::{AtomicU64, Ordering};

use chorus::clock::Clock;
use chorus::domain::{
    Actor, AlertId, Caller, Job, KindMode, KindRule, NewRequest, Outcome, Priority, Request,
    RequestId, RequestSource, RequestSourceType, RunIdentity, Task, TaskId, Tool,
};
use chorus::ledger::alert::{self, RaiseAlert};
use chorus::ledger::handoff::{self, Transfer};
use chorus::ledger::request::{
    self, ClaimRequest, Dispatch, EndClaim, EndedClaim, FilesReport, Heartbeat, Reconciled,
    kind_rules,
};
use chorus::ledger::run::{self, ClaimRun, FinishRun};
use chorus::ledger::{Tx, tool};
use chorus::store::{Database, Result};

/// The lease of every claim, in milliseconds.
pub const LEASE: i64 = 60_000;

/// A rule by which the server runs an agent.
pub fn agent_rule(kind: &str, agent: &str) -> KindRule {
    KindRule {
        kind: kind.parse().unwrap(),
        agent: agent.parse().unwrap(),
        mode: KindMode::Agent,
        rank: 1.0,
        batch: false,
        retry: false,
        max_attempts: 2,
        start_command: None,
        poll_command: None,
        poll_seconds: 10,
    }
}

/// A rule whose command starts a job outside the server.
pub fn async_rule(kind: &str) -> KindRule {
    let words = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect();
    KindRule {
        mode: KindMode::Async,
        start_command: Some(words(&["/bin/sh", "-c", "echo job-7"])),
        poll_command: Some(words(&["/bin/sh", "-c", "echo {job}"])),
        ..agent_rule(kind, "developer")
    }
}

pub fn new_request(kind: &str, title: &str) -> NewRequest {
    NewRequest {
        id: RequestId::new(),
        title: title.parse().unwrap(),
        body: "what is to be done".parse().unwrap(),
        kind: kind.parse().unwrap(),
        priority: Priority::P2,
        effort: None,
        source: RequestSource::default(),
        agent_workspace: None,
    }
}

/// Sets the source of a request to a task.
pub fn on_task(task_id: &TaskId, new: NewRequest) -> NewRequest {
    let source = RequestSource {
        source_type: RequestSourceType::Task,
        task_id: Some(task_id.clone()),
        ..RequestSource::default()
    };
    NewRequest { source, ..new }
}

/// Sets the source of a request to a line of a file.
pub fn in_file(file: &str, line: u32, new: NewRequest) -> NewRequest {
    let source = RequestSource {
        source_type: RequestSourceType::File,
        file: Some(file.parse().unwrap()),
        line: Some(line),
        ..RequestSource::default()
    };
    NewRequest { source, ..new }
}

/// An actor without a token.
pub fn person(name: &str) -> Actor {
    Actor::Person(name.to_owned())
}

/// Shorthands for the ledger's operations on requests.
#[derive(Clone, Copy)]
pub struct Requests<'a>(pub &'a Database);

impl Requests<'_> {
    async fn write<T: Send + 'static>(
        self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0.write(run).await
    }

    pub async fn create(self, new: NewRequest) -> Request {
        self.create_as(new, Actor::Operator).await.unwrap()
    }

    pub async fn create_as(self, new: NewRequest, by: Actor) -> Result<Request> {
        self.write(move |tx| Ok(request::create(tx, &new, &by)?.request))
            .await
    }

    pub async fn approve(self, ids: Vec<RequestId>, by: Actor) -> Result<Vec<Request>> {
        self.write(move |tx| request::approve(tx, &ids, &by)).await
    }

    pub async fn leave_to_next(self, id: RequestId, by: Actor) -> Result<Request> {
        self.write(move |tx| request::leave_to_next(tx, &id, &by))
            .await
    }

    pub async fn end_job(self, job: Job, outcome: Outcome, output: &str) -> Result<bool> {
        let output = output.parse().unwrap();
        self.write(move |tx| request::end_job(tx, &job, outcome, &output))
            .await
    }

    pub async fn reconcile_files(self, report: FilesReport) -> Reconciled {
        let reconciled = self.write(move |tx| request::reconcile_files(tx, &report));
        reconciled.await.unwrap()
    }

    pub async fn expire_leases(self) -> u32 {
        self.write(request::expire_leases).await.unwrap()
    }

    pub async fn set_rules(self, rules: Vec<KindRule>) {
        self.write(move |tx| kind_rules::set(tx, &rules))
            .await
            .unwrap();
    }

    pub async fn rules(self) -> Vec<KindRule> {
        self.0.read(kind_rules::list).await.unwrap()
    }

    pub async fn create_approved(self, new: NewRequest) -> Request {
        let id = self.create(new).await.id;
        let approved = self.approve(vec![id], Actor::Operator).await;
        approved.unwrap().remove(0)
    }

    pub async fn find(self, request: &Request) -> Request {
        let id = request.id.clone();
        let found = self.0.read(move |view| request::get(view, &id));
        found.await.unwrap()
    }

    /// Claims a request for an agent outside the server.
    pub async fn claim(self, request: &Request, agent: &str) -> Result<Request> {
        let claim = ClaimRequest {
            id: request.id.clone(),
            agent: agent.parse().unwrap(),
            lease_millis: LEASE,
            by: person(agent),
        };
        self.write(move |tx| request::claim(tx, &claim)).await
    }

    pub async fn heartbeat(self, request: &Request, fencing: Option<u32>) -> Result<Request> {
        let heartbeat = Heartbeat {
            id: request.id.clone(),
            fencing,
            lease_millis: LEASE,
            by: person("somebody"),
        };
        self.write(move |tx| request::heartbeat(tx, &heartbeat))
            .await
    }

    pub async fn finish(
        self,
        request: &Request,
        fencing: Option<u32>,
        by: Actor,
    ) -> Result<EndedClaim> {
        let end = end_claim(request, "answered", fencing, by);
        self.write(move |tx| request::finish(tx, &end)).await
    }

    pub async fn requeue(
        self,
        request: &Request,
        fencing: Option<u32>,
        by: Actor,
    ) -> Result<EndedClaim> {
        let end = end_claim(request, "given up", fencing, by);
        self.write(move |tx| request::requeue(tx, &end)).await
    }

    /// Starts requests together, on a new task unless one of an earlier attempt can be continued.
    pub async fn dispatch(self, requests: &[&Request]) -> Result<Option<Task>> {
        let dispatch = Dispatch {
            ids: requests.iter().map(|request| request.id.clone()).collect(),
            prompt: "Please do this.".parse().unwrap(),
            description: requests[0].title.clone(),
            new_task: (TaskId::new(), "/somewhere".parse().unwrap()),
            lease_millis: LEASE,
        };
        self.write(move |tx| request::dispatch(tx, &dispatch)).await
    }

    pub async fn dispatch_one(self, request: &Request) -> Task {
        self.dispatch(&[request]).await.unwrap().unwrap()
    }

    /// Claims the queued run of a task, as the scheduler does.
    pub async fn claim_run(self, task: &Task) -> RunIdentity {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut others = Vec::new();
        let run = loop {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
            let claim = ClaimRun {
                max_runs: 1000,
                installation: String::new(),
                live: vec![],
                token_hash: token,
                isolation: chorus::domain::Isolation::Unmasked,
                tag_wait: None,
            };
            let db = self.0;
            let run = db.write(move |tx| run::claim(tx, &claim)).await;
            let run = run.unwrap().expect("the task has no queued run").identity;
            if run.task_id == task.id {
                break run;
            }
            others.push(run.run_id);
        };
        for other in others {
            let db = self.0;
            let returned = db.write(move |tx| run::return_run(tx, &other)).await;
            returned.unwrap();
        }
        run
    }

    pub async fn end_run(self, run: &RunIdentity, outcome: Outcome, output: &str) -> bool {
        let finish = FinishRun {
            has_begun: true,
            run_id: run.run_id.clone(),
            outcome,
            output: output.parse().unwrap(),
            session_id: None,
            usage: None,
            cost_usd: None,
            denied_tools: vec![],
        };
        let db = self.0;
        let finished = db.write(move |tx| run::finish(tx, &finish)).await;
        finished.unwrap()
    }

    /// Creates a tool that transfers a task to an agent.
    pub async fn create_tool(self, name: &str, agent: &str) {
        let tool = Tool {
            name: name.to_owned().try_into().unwrap(),
            description: "When it is done.".parse().unwrap(),
            target_agent: agent.parse().unwrap(),
            context_variables: vec![],
            handoff_instructions: "Look at it.".parse().unwrap(),
            allowed_agents: None,
        };
        let create = move |tx: &mut Tx<'_>| tool::create(tx, &tool);
        self.0.write(create).await.unwrap();
    }

    pub async fn transfer(self, task_id: &TaskId, tool: &str, caller: Option<RunIdentity>) -> Task {
        let transfer = Transfer {
            task_id: task_id.clone(),
            tool: tool.to_owned(),
            arguments: serde_json::Map::new(),
            caller: caller.map_or(Caller::Person, Caller::Run),
            trace: None,
        };
        let moved = self.0.write(move |tx| handoff::transfer(tx, &transfer));
        moved.await.unwrap().task
    }

    pub async fn raise_alert(self, message: &str, task_id: Option<&TaskId>) -> AlertId {
        let id = AlertId::new();
        let raise = RaiseAlert {
            id: id.clone(),
            message: message.parse().unwrap(),
            task_id: task_id.cloned(),
            by: person("watcher"),
        };
        self.write(move |tx| alert::raise(tx, &raise))
            .await
            .unwrap();
        id
    }
}

fn end_claim(request: &Request, text: &str, fencing: Option<u32>, by: Actor) -> EndClaim {
    EndClaim {
        id: request.id.clone(),
        text: text.parse().unwrap(),
        fencing,
        by,
    }
}

/// Creates requests in every state (waiting, claimed in every way, stuck, done) and alerts. Needs the default agents.
pub async fn populate(database: &Database, clock: &Clock) {
    let requests = Requests(database);
    let rules = vec![
        agent_rule("fix", "developer"),
        KindRule {
            retry: true,
            ..agent_rule("test", "qa")
        },
        KindRule {
            rank: -0.5,
            batch: true,
            ..agent_rule("review", "developer-review")
        },
        async_rule("build"),
        KindRule {
            mode: KindMode::Interactive,
            ..agent_rule("design", "planner")
        },
    ];
    requests.set_rules(rules).await;
    let tick = || clock.advance(1234);
    // One is done, and its agent noticed another.
    let done = requests
        .create_approved(new_request("fix", "is done 🎶"))
        .await;
    let task = requests.dispatch_one(&done).await;
    tick();
    let run = requests.claim_run(&task).await;
    let noticed = on_task(&task.id, new_request("docs", "was noticed"));
    requests
        .create_as(noticed, Actor::Run(run.clone()))
        .await
        .unwrap();
    requests
        .end_run(&run, Outcome::Completed, "fixed \" \n")
        .await;
    // Three wait: for a person, for the dispatcher, for the next claimer.
    requests
        .create(NewRequest {
            priority: Priority::P0,
            effort: chorus::domain::Effort::parse("L"),
            agent_workspace: Some("/somewhere".parse().unwrap()),
            ..in_file("/notes.md", 7, new_request("design", "waits"))
        })
        .await;
    requests
        .create_approved(new_request("nobody", "nobody's kind"))
        .await;
    let next = requests.create(new_request("fix", "is next")).await;
    requests.leave_to_next(next.id, Actor::File).await.unwrap();
    // One fails twice and is stuck.
    let stuck = requests
        .create_approved(new_request("test", "is stuck"))
        .await;
    for _ in 0..2 {
        tick();
        let task = requests.dispatch_one(&stuck).await;
        let run = requests.claim_run(&task).await;
        requests
            .end_run(&run, Outcome::Failed, "no such test")
            .await;
    }
    // One lost its lease to an outside agent, and one is claimed by it.
    let lost = requests
        .create_approved(new_request("fix", "was lost"))
        .await;
    requests.claim(&lost, "stranger").await.unwrap();
    clock.advance(LEASE);
    assert_eq!(requests.expire_leases().await, 1);
    let held = requests
        .create_approved(new_request("fix", "is held"))
        .await;
    requests.claim(&held, "stranger").await.unwrap();
    // One was transferred to another agent, which works on it.
    requests.create_tool("to_qa_for_good", "qa").await;
    let moved = requests
        .create_approved(new_request("fix", "moved on"))
        .await;
    let task = requests.dispatch_one(&moved).await;
    let run = requests.claim_run(&task).await;
    let child = requests.transfer(&task.id, "to_qa_for_good", Some(run));
    requests.claim_run(&child.await).await;
    // Two are worked on in one batch, and one is a job outside the server.
    let first = requests
        .create_approved(new_request("review", "first"))
        .await;
    let second = requests
        .create_approved(new_request("review", "second"))
        .await;
    let both = requests.dispatch(&[&first, &second]).await.unwrap();
    requests.claim_run(&both.unwrap()).await;
    let job = requests
        .create_approved(new_request("build", "is a job"))
        .await;
    let job = requests.dispatch_one(&job).await;
    let run = requests.claim_run(&job).await;
    assert!(
        !requests
            .end_run(&run, Outcome::Completed, "log\njob-7\n")
            .await
    );
    requests.raise_alert("the disk is full", None).await;
    let resolved = requests.raise_alert("it is slow 🎶", Some(&task.id)).await;
    tick();
    requests
        .write(move |tx| alert::resolve(tx, &resolved, &Actor::Operator))
        .await
        .unwrap();
}
