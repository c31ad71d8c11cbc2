//! Requests through the store: what the doors above it ask, in few words.

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

/// How long a claim lasts in these tests.
pub const LEASE: i64 = 60_000;

/// A route by which the server runs an agent.
pub fn route(kind: &str, agent: &str) -> KindRule {
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

/// A route whose command starts a job elsewhere.
pub fn job_route(kind: &str) -> KindRule {
    let words = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect();
    KindRule {
        mode: KindMode::Async,
        start_command: Some(words(&["/bin/sh", "-c", "echo job-7"])),
        poll_command: Some(words(&["/bin/sh", "-c", "echo {job}"])),
        ..route(kind, "developer")
    }
}

/// A request of a kind.
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

/// The same, noticed on a task.
pub fn on_task(task_id: &TaskId, new: NewRequest) -> NewRequest {
    let source = RequestSource {
        source_type: RequestSourceType::Task,
        task_id: Some(task_id.clone()),
        ..RequestSource::default()
    };
    NewRequest { source, ..new }
}

/// The same, standing in a file.
pub fn in_file(file: &str, line: u32, new: NewRequest) -> NewRequest {
    let source = RequestSource {
        source_type: RequestSourceType::File,
        file: Some(file.parse().unwrap()),
        line: Some(line),
        ..RequestSource::default()
    };
    NewRequest { source, ..new }
}

/// Somebody who shows no token.
pub fn person(name: &str) -> Actor {
    Actor::Person(name.to_owned())
}

/// What a store is asked.
#[derive(Clone, Copy)]
pub struct Requests<'a>(pub &'a Database);

impl Requests<'_> {
    /// Changes the ledger.
    async fn write<T: Send + 'static>(
        self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0.write(run).await
    }

    /// Makes a request.
    pub async fn leave(self, new: NewRequest) -> Request {
        self.leave_as(new, Actor::Operator).await.unwrap()
    }

    /// Makes a request in somebody's name.
    pub async fn leave_as(self, new: NewRequest, by: Actor) -> Result<Request> {
        self.write(move |tx| Ok(request::create(tx, &new, &by)?.request))
            .await
    }

    /// Approves requests.
    pub async fn approve(self, ids: Vec<RequestId>, by: Actor) -> Result<Vec<Request>> {
        self.write(move |tx| request::approve(tx, &ids, &by)).await
    }

    /// Leaves a request to the next agent or person that claims it.
    pub async fn leave_to_next(self, id: RequestId, by: Actor) -> Result<Request> {
        self.write(move |tx| request::leave_to_next(tx, &id, &by))
            .await
    }

    /// Ends a job.
    pub async fn end_job(self, job: Job, outcome: Outcome, output: &str) -> Result<bool> {
        let output = output.parse().unwrap();
        self.write(move |tx| request::end_job(tx, &job, outcome, &output))
            .await
    }

    /// Brings requests and files into agreement.
    pub async fn reconcile_files(self, report: FilesReport) -> Reconciled {
        let reconciled = self.write(move |tx| request::reconcile_files(tx, &report));
        reconciled.await.unwrap()
    }

    /// Takes requests back whose leases have ended.
    pub async fn expire_leases(self) -> u32 {
        self.write(request::expire_leases).await.unwrap()
    }

    /// Sets the kind rules.
    pub async fn set_rules(self, rules: Vec<KindRule>) {
        self.write(move |tx| kind_rules::set(tx, &rules))
            .await
            .unwrap();
    }

    /// Lists the kind rules.
    pub async fn rules(self) -> Vec<KindRule> {
        self.0.read(kind_rules::list).await.unwrap()
    }

    /// Makes a request and approves it.
    pub async fn approved(self, new: NewRequest) -> Request {
        let id = self.leave(new).await.id;
        let approved = self.approve(vec![id], Actor::Operator).await;
        approved.unwrap().remove(0)
    }

    /// Finds a request.
    pub async fn find(self, request: &Request) -> Request {
        let id = request.id.clone();
        let found = self.0.read(move |view| request::get(view, &id));
        found.await.unwrap()
    }

    /// Claims a request for an agent that the server does not run.
    pub async fn claim(self, request: &Request, agent: &str) -> Result<Request> {
        let claim = ClaimRequest {
            id: request.id.clone(),
            agent: agent.parse().unwrap(),
            lease_millis: LEASE,
            by: person(agent),
        };
        self.write(move |tx| request::claim(tx, &claim)).await
    }

    /// Says that somebody still works on a request.
    pub async fn beat(self, request: &Request, fencing: Option<u32>) -> Result<Request> {
        let beat = Heartbeat {
            id: request.id.clone(),
            fencing,
            lease_millis: LEASE,
            by: person("somebody"),
        };
        self.write(move |tx| request::heartbeat(tx, &beat)).await
    }

    /// Answers a request.
    pub async fn finish(
        self,
        request: &Request,
        fencing: Option<u32>,
        by: Actor,
    ) -> Result<EndedClaim> {
        let end = end(request, "answered", fencing, by);
        self.write(move |tx| request::finish(tx, &end)).await
    }

    /// Gives a request up.
    pub async fn requeue(
        self,
        request: &Request,
        fencing: Option<u32>,
        by: Actor,
    ) -> Result<EndedClaim> {
        let end = end(request, "given up", fencing, by);
        self.write(move |tx| request::requeue(tx, &end)).await
    }

    /// Begins requests, on a new task unless there is one to go on with.
    pub async fn dispatch(self, requests: &[&Request]) -> Result<Option<Task>> {
        let dispatch = Dispatch {
            ids: requests.iter().map(|request| request.id.clone()).collect(),
            prompt: "Please do this.".parse().unwrap(),
            description: requests[0].title.clone(),
            new_task: (TaskId::new(), "/".parse().unwrap()),
            lease_millis: LEASE,
        };
        self.write(move |tx| request::dispatch(tx, &dispatch)).await
    }

    /// Begins one request.
    pub async fn begin(self, request: &Request) -> Task {
        self.dispatch(&[request]).await.unwrap().unwrap()
    }

    /// Takes the run of a task, as the scheduler does.
    pub async fn take_run(self, task: &Task) -> RunIdentity {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut others = Vec::new();
        let run = loop {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
            let claim = ClaimRun {
                max_runs: 1000,
                data_dir: String::new(),
                live: vec![],
                token_hash: token,
            };
            let db = self.0;
            let run = db.write(move |tx| run::claim(tx, &claim)).await;
            let run = run.unwrap().expect("a run stands in line").identity;
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

    /// Ends a run.
    pub async fn end_run(self, run: &RunIdentity, outcome: Outcome, output: &str) -> bool {
        let finish = FinishRun {
            run_id: run.run_id.clone(),
            outcome,
            output: output.parse().unwrap(),
            session_id: None,
            usage: None,
            cost_usd: None,
        };
        let db = self.0;
        let finished = db.write(move |tx| run::finish(tx, &finish)).await;
        finished.unwrap()
    }

    /// Makes a tool that passes control to an agent.
    pub async fn tool(self, name: &str, agent: &str) {
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

    /// Passes control of a task by a tool.
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

    /// Raises an alert.
    pub async fn raise(self, message: &str, task_id: Option<&TaskId>) -> AlertId {
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

fn end(request: &Request, text: &str, fencing: Option<u32>, by: Actor) -> EndClaim {
    EndClaim {
        id: request.id.clone(),
        text: text.parse().unwrap(),
        fencing,
        by,
    }
}

/// Lets requests of every kind live: those that wait, are worked on by all sorts of agents, are stuck, and done; and raises
/// alerts. The agents must be the default ones.
pub async fn live(store: &Database, clock: &Clock) {
    let requests = Requests(store);
    let rules = vec![
        route("fix", "developer"),
        KindRule {
            retry: true,
            ..route("test", "qa")
        },
        KindRule {
            rank: -0.5,
            batch: true,
            ..route("review", "developer-review")
        },
        job_route("build"),
        KindRule {
            mode: KindMode::Interactive,
            ..route("design", "planner")
        },
    ];
    requests.set_rules(rules).await;
    let tick = || clock.advance(1234);
    // One is done, and another was noticed on its task.
    let done = requests.approved(new_request("fix", "is done 🎶")).await;
    let task = requests.begin(&done).await;
    tick();
    let run = requests.take_run(&task).await;
    let noticed = on_task(&task.id, new_request("docs", "was noticed"));
    requests
        .leave_as(noticed, Actor::Run(run.clone()))
        .await
        .unwrap();
    requests
        .end_run(&run, Outcome::Completed, "fixed \" \n")
        .await;
    // Those that wait: for a person, for the dispatcher, for whoever comes.
    requests
        .leave(NewRequest {
            priority: Priority::P0,
            effort: chorus::domain::Effort::parse("L"),
            agent_workspace: Some("/somewhere".parse().unwrap()),
            ..in_file("/notes.md", 7, new_request("design", "waits"))
        })
        .await;
    requests
        .approved(new_request("nobody", "nobody's kind"))
        .await;
    let next = requests.leave(new_request("fix", "is next")).await;
    requests.leave_to_next(next.id, Actor::File).await.unwrap();
    // One fails, is tried again, fails again, and is stuck.
    let stuck = requests.approved(new_request("test", "is stuck")).await;
    for _ in 0..2 {
        tick();
        let task = requests.begin(&stuck).await;
        let run = requests.take_run(&task).await;
        requests
            .end_run(&run, Outcome::Failed, "no such test")
            .await;
    }
    // One is claimed from outside, one was and its lease ran out.
    let lost = requests.approved(new_request("fix", "was lost")).await;
    requests.claim(&lost, "stranger").await.unwrap();
    clock.advance(LEASE);
    assert_eq!(requests.expire_leases().await, 1);
    let held = requests.approved(new_request("fix", "is held")).await;
    requests.claim(&held, "stranger").await.unwrap();
    // One has moved on to another agent by a tool, which works on it.
    requests.tool("to_qa_for_good", "qa").await;
    let moved = requests.approved(new_request("fix", "moved on")).await;
    let task = requests.begin(&moved).await;
    let run = requests.take_run(&task).await;
    let child = requests.transfer(&task.id, "to_qa_for_good", Some(run));
    requests.take_run(&child.await).await;
    // Two are worked on together, and a job goes on elsewhere.
    let first = requests.approved(new_request("review", "first")).await;
    let second = requests.approved(new_request("review", "second")).await;
    let both = requests.dispatch(&[&first, &second]).await.unwrap();
    requests.take_run(&both.unwrap()).await;
    let job = requests.approved(new_request("build", "is a job")).await;
    let job = requests.begin(&job).await;
    let run = requests.take_run(&job).await;
    assert!(
        !requests
            .end_run(&run, Outcome::Completed, "log\njob-7\n")
            .await
    );
    requests.raise("the disk is full", None).await;
    let resolved = requests.raise("it is slow 🎶", Some(&task.id)).await;
    tick();
    requests
        .write(move |tx| alert::resolve(tx, &resolved, &Actor::Operator))
        .await
        .unwrap();
}
