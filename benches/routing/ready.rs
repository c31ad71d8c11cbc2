//! Lists of ready tasks in a small and a large ledger.

use std::path::Path;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use rusqlite::{Connection as Database, params};

use super::Plan;
use super::support::fill;
use super::support::http::{Connection, uri};
use super::support::median;
use super::support::server::{DataDir, Server, this_program};

/// Tasks in the small ledger.
pub const SMALL: usize = 1000;

/// The number of consecutive requests to one server before the other's turn.
const ROUND: usize = 10;

const INSERT_TASK: &str = "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description,
                                              agent_role, specialist_tags, priority)
     VALUES ($1, $2, $3, $3, 'api', 'anonymous', $4, $5, $6, $7, $8)";
const INSERT_DEPENDENCY: &str = "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome) VALUES ($1, 1, $2, $3)";
const INSERT_AGENT: &str = "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at, program, roles, skills)
     VALUES ('tester', '', '', '', 'command', $1, $1, '/bin/true', '[\"testing\",\"fixing\"]', '[\"python\",\"sql\"]')";

pub const FIRST_PAGE: &str = "/api/ready?limit=100";
pub const FIRST_PAGE_FOR_AGENT: &str = "/api/ready?forAgent=tester&limit=100";

#[derive(Clone, Copy)]
enum Request {
    Ready,
    ForAgent,
    Complete,
}

const REQUESTS: [(Request, &str); 3] = [
    (Request::Ready, "GET 100 ready tasks"),
    (Request::ForAgent, "GET 100 ready tasks for an agent"),
    (Request::Complete, "complete a task with a dependant"),
];

/// A ledger with its server and a client.
pub struct Subject {
    /// Tasks with a dependant, spread over the ledger.
    waited_for: Vec<String>,
    connection: Connection,
    pub server: Server,
    _data_dir: DataDir,
}

pub async fn run(plan: &Plan) {
    let large = plan.tasks.max(SMALL);
    let mut subjects = [
        Subject::start(this_program(), SMALL).await,
        Subject::start(this_program(), large).await,
    ];
    println!("Median latency of one client, by the number of tasks; about half of them are ready");
    println!(
        "{:<36} {:>13} {:>13} {:>6}",
        "",
        format!("{SMALL} tasks"),
        format!("{large} tasks"),
        "ratio"
    );
    for (request, name) in REQUESTS {
        let mut samples = [Vec::new(), Vec::new()];
        for round in 0..plan.samples / ROUND {
            for (subject, samples) in subjects.iter_mut().zip(&mut samples) {
                for nth in 0..ROUND {
                    samples.push(subject.time(request, round * ROUND + nth).await);
                }
            }
        }
        let [small, large] = samples.map(|mut samples| median(&mut samples).as_secs_f64() * 1e6);
        println!(
            "{name:<36} {small:>10.0} µs {large:>10.0} µs {:>6.2}",
            large / small
        );
    }
    println!();
}

impl Subject {
    pub async fn start(program: &Path, tasks: usize) -> Self {
        let data_dir = DataDir::create_with(program);
        let mut waited_for = Vec::new();
        fill::at_once(&data_dir.database(), |database| {
            waited_for = fill_in(database, tasks);
        });
        let server = Server::start(&data_dir, &["--max-runs", "0", "--no-route"]);
        Self {
            waited_for,
            connection: Connection::open(server.address).await,
            server,
            _data_dir: data_dir,
        }
    }

    async fn time(&mut self, request: Request, nth: usize) -> Duration {
        let path = match request {
            Request::Ready => uri(FIRST_PAGE),
            Request::ForAgent => uri(FIRST_PAGE_FOR_AGENT),
            Request::Complete => {
                let id = &self.waited_for[nth % self.waited_for.len()];
                let path = uri(&format!("/api/tasks/{id}/status"));
                let began = Instant::now();
                self.connection
                    .put(&path, Bytes::from_static(br#"{"status":"completed"}"#))
                    .await;
                let took = began.elapsed();
                self.connection
                    .put(&path, Bytes::from_static(br#"{"status":"pending"}"#))
                    .await;
                return took;
            }
        };
        let began = Instant::now();
        self.connection.get(&path).await;
        began.elapsed()
    }
}

/// Fills a ledger in which every second task depends on the one before, and every twentieth has ended.
fn fill_in(database: &Database, tasks: usize) -> Vec<String> {
    let roles = [
        None,
        Some("testing"),
        Some("implementation"),
        Some("fixing"),
    ];
    let tags = ["[]", r#"["python"]"#, r#"["rust","sql"]"#];
    let at = fill::now();
    let mut waited_for = Vec::new();
    let mut before = None;
    fill::insert(database, INSERT_AGENT, params![at]);
    for nth in 0..tasks {
        let id = fill::new_id();
        let status = if nth % 20 == 0 {
            "completed"
        } else {
            "pending"
        };
        let arguments = params![
            id,
            status,
            at,
            fill::WORKSPACE,
            fill::DESCRIPTION,
            roles[nth / 2 % roles.len()],
            tags[nth % tags.len()],
            [0, 1, 2, 3, 4][nth % 5]
        ];
        let number = fill::insert(database, INSERT_TASK, arguments);
        if nth % 2 == 1 {
            let outcome = if nth % 6 == 1 { "any" } else { "completed" };
            database
                .prepare_cached(INSERT_DEPENDENCY)
                .and_then(|mut statement| statement.execute(params![number, before, outcome]))
                .expect("the row fits the schema");
        } else if nth % (tasks / 100) == 2 {
            waited_for.push(id);
        }
        before = Some(number);
    }
    waited_for
}
