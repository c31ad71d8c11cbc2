//! Started runs per second, from approved requests and from plain hand-offs.

use chorus::client::Client;
use chorus::secret::Token;
use futures_util::{StreamExt, stream};
use reqwest::Method;
use rusqlite::{Connection as Database, params};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Plan;
use super::support::server::{DataDir, Server};
use super::support::{fill, median};

const IN_FLIGHT: [usize; 3] = [1, 8, 32];

/// Concurrent clients, the size of a team.
const CLIENTS: usize = 8;

const INSERT_AGENT: &str = "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at, program, arguments)
     VALUES ('developer', '', '', '', 'command', $1, $1, '/bin/echo', json_array('done'))";

pub async fn run(plan: &Plan) {
    println!(
        "Started runs per second, from {} approved requests and from as many hand-offs",
        plan.requests
    );
    println!(
        "{:>9} {:>11} {:>11} {:>21}",
        "in flight", "requests/s", "hand-offs/s", "requests ÷ hand-offs"
    );
    for in_flight in IN_FLIGHT {
        let mut rounds = Vec::new();
        for _ in 0..plan.starts {
            let subject = Subject::start(in_flight);
            let handoffs = subject.hand_off(plan.requests).await;
            rounds.push((subject.dispatch(plan.requests).await, handoffs));
        }
        // Ratios are taken within a round, so that other load on the machine affects both.
        let middle =
            |of: fn(&(f64, f64)) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
        println!(
            "{in_flight:>9} {:>11.0} {:>11.0} {:>21.3}",
            middle(|(requests, _)| *requests),
            middle(|(_, handoffs)| *handoffs),
            middle(|(requests, handoffs)| requests / handoffs),
        );
    }
    println!();
}

#[derive(Deserialize)]
struct Created {
    id: String,
}

/// A server whose agent exits at once.
struct Subject {
    client: Client,
    database: Database,
    _server: Server,
    _data_dir: DataDir,
}

impl Subject {
    fn start(in_flight: usize) -> Self {
        let data_dir = DataDir::create();
        let database = fill::open(&data_dir.database());
        database
            .execute(INSERT_AGENT, params![fill::now()])
            .expect("the row fits the schema");
        let server = Server::start(
            &data_dir,
            &[
                "--max-runs",
                &in_flight.to_string(),
                "--debounce-seconds",
                "0",
            ],
        );
        let token = std::fs::read_to_string(data_dir.path().join("operator.token"))
            .expect("the server creates it");
        let token = Token::given(token.trim().to_owned());
        let url = format!("http://{}", server.address);
        let client = Client::new(&url, Some(token)).expect("the URL is valid");
        Self {
            client,
            database,
            _server: server,
            _data_dir: data_dir,
        }
    }

    async fn post<T: serde::de::DeserializeOwned>(&self, path: &str, body: Value) -> T {
        let reply = self.client.send_json(Method::POST, path, &body).await;
        let reply = reply.expect("the server answers");
        reply.data().expect("in the documented form")
    }

    /// Repeats work, [`CLIENTS`] at a time.
    async fn many<T>(&self, count: usize, work: impl AsyncFn(usize) -> T) -> Vec<T> {
        stream::iter(0..count)
            .map(|number| work(number))
            .buffered(CLIENTS)
            .collect()
            .await
    }

    /// Hands tasks off, and returns the started runs per second.
    async fn hand_off(&self, count: usize) -> f64 {
        let tasks: Vec<Created> = self
            .many(count, async |_| {
                self.post("/api/tasks", json!({ "description": "x" })).await
            })
            .await;
        let body = json!({ "agentName": "developer", "prompt": "x" });
        let last = self
            .many(count, async |number| {
                let path = format!("/api/tasks/{}/handoff", tasks[number].id);
                self.post::<Created>(&path, body.clone()).await
            })
            .await;
        for task in &last {
            self.get(&format!("/api/tasks/{}?wait=idle&timeout=600", task.id))
                .await;
        }
        self.rate(
            count,
            "SELECT max(r.started_at) - min(r.queued_at) FROM runs r JOIN handoffs h ON h.number = r.handoff_number
              WHERE h.mode = 'delegate'",
        )
    }

    /// Approves requests, and returns the started runs per second.
    async fn dispatch(&self, count: usize) -> f64 {
        let requests: Vec<Created> = self
            .many(count, async |_| {
                let body = json!({ "title": "x", "body": "", "kind": "fix" });
                self.post("/api/requests", body).await
            })
            .await;
        let ids: Vec<_> = requests.iter().map(|request| &request.id).collect();
        for some in ids.chunks(1000) {
            let _: Vec<Created> = self
                .post("/api/requests/approve", json!({ "ids": some }))
                .await;
        }
        for id in ids {
            self.get(&format!("/api/requests/{id}?wait=600")).await;
        }
        self.rate(
            count,
            "SELECT max(r.started_at) - (SELECT min(approved_at) FROM requests)
               FROM runs r JOIN handoffs h ON h.number = r.handoff_number WHERE h.mode = 'request'",
        )
    }

    async fn get(&self, path: &str) {
        let reply = self.client.get(path, &[]).await;
        reply.expect("the server answers");
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "nobody measures that many or that long"
    )]
    fn rate(&self, count: usize, query: &str) -> f64 {
        let millis: i64 = self
            .database
            .query_row(query, [], |row| row.get(0))
            .expect("runs have started");
        count as f64 / (millis.max(1) as f64 / 1000.0)
    }
}
