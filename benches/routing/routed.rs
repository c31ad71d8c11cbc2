//! Tasks per second that are routed to the best of 100 agents, compared with hand-offs that name their agent.

use std::path::Path;
use std::time::Instant;

use futures_util::future::join_all;
use rusqlite::{Connection as Database, params};

use super::Plan;
use super::support::http::{Connection, Doors, uri};
use super::support::server::{DataDir, Server, this_program};
use super::support::{fill, median};

pub const CLIENTS: [usize; 3] = [1, 8, 64];

/// The agents that the router chooses from.
const AGENTS: usize = 100;

const INSERT_AGENT: &str = "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at, program, roles, skills)
     VALUES ($1, '', '', '', 'command', $2, $2, '/bin/true', $3, $4)";
const NEED: &str = "UPDATE tasks SET agent_role = 'testing', specialist_tags = '[\"python\",\"sql\",\"api\"]' WHERE id = $1";

pub async fn run(plan: &Plan) {
    println!(
        "Hand-offs per second with {AGENTS} agents, started and completed over HTTP: the router chooses and mails, or the caller names the agent"
    );
    println!(
        "{:>8} {:>10} {:>10} {:>15}",
        "clients", "routed/s", "named/s", "routed ÷ named"
    );
    for clients in CLIENTS {
        let mut rounds = Vec::new();
        for _ in 0..plan.rounds {
            let subject = Subject::start(this_program());
            let named = subject.rate(plan.routed, clients, Choice::Named).await;
            let routed = subject.rate(plan.routed, clients, Choice::Routed).await;
            rounds.push((routed, named));
        }
        // Ratios are taken within a round, so that other load on the machine affects both.
        let middle =
            |of: fn(&(f64, f64)) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
        println!(
            "{clients:>8} {:>10.0} {:>10.0} {:>15.2}",
            middle(|(routed, _)| *routed),
            middle(|(_, named)| *named),
            middle(|(routed, named)| routed / named),
        );
    }
    println!();
}

#[derive(Clone, Copy)]
pub enum Choice {
    /// By the router.
    Routed,
    /// By the caller.
    Named,
}

/// A server with many agents, and a connection that adds tasks directly to its database.
pub struct Subject {
    database: Database,
    pub server: Server,
    _data_dir: DataDir,
}

impl Subject {
    pub fn start(program: &Path) -> Self {
        let data_dir = DataDir::create_with(program);
        let database = fill::open(&data_dir.database());
        let skills = ["python", "sql", "api", "rust", "web", "go", "css"];
        fill::in_transaction(&database, || {
            for nth in 0..AGENTS {
                let name = if nth == 0 {
                    "developer".to_owned()
                } else {
                    format!("agent-{nth}")
                };
                let roles = if nth % 4 == 3 {
                    r#"["fixing"]"#
                } else {
                    r#"["testing","verification"]"#
                };
                let own = [
                    skills[nth % 7],
                    skills[(nth / 2 + 1) % 7],
                    skills[(nth / 3 + 3) % 7],
                ];
                let own = serde_json::to_string(&own).expect("strings are JSON");
                fill::insert(
                    &database,
                    INSERT_AGENT,
                    params![name, fill::now(), roles, own],
                );
            }
        });
        let server = Server::start(&data_dir, &["--max-runs", "0", "--no-route"]);
        Self {
            database,
            server,
            _data_dir: data_dir,
        }
    }

    /// Adds tasks that most agents qualify for.
    fn add_tasks(&self, count: usize) -> Vec<String> {
        let ids = fill::add_tasks(&self.database, count);
        fill::in_transaction(&self.database, || {
            for id in &ids {
                self.database
                    .execute(NEED, params![id])
                    .expect("the row fits the schema");
            }
        });
        ids
    }

    /// Hands new tasks off, and returns hand-offs per second.
    pub async fn rate(&self, count: usize, clients: usize, choice: Choice) -> f64 {
        let tasks = self.add_tasks(count);
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(Connection::open(self.server.address).await);
        }
        let share = tasks.len().div_ceil(clients);
        let began = Instant::now();
        let work = connections.into_iter().zip(tasks.chunks(share)).map(
            async |(mut connection, tasks)| {
                for id in tasks {
                    let doors = Doors::of(id);
                    match choice {
                        Choice::Routed => {
                            let path = uri(&format!("/api/route/{id}"));
                            connection.post(&path, "".into()).await;
                        }
                        Choice::Named => {
                            connection.start(&doors).await;
                        }
                    }
                    connection.complete(&doors).await;
                }
            },
        );
        join_all(work).await;
        let count = u32::try_from(tasks.len()).expect("the plan has fewer tasks");
        f64::from(count) / began.elapsed().as_secs_f64()
    }
}
