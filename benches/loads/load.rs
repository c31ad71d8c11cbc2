//! The loads.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use rusqlite::Connection as Database;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Plan;
use super::support::http::{Connection, uri};
use super::support::server::{DataDir, Server};

/// The tasks with a large description.
const TASKS: usize = 24;

/// The time for which idle clients stay.
const IDLE: Duration = Duration::from_secs(5);

/// A server on its own data.
pub struct Subject {
    data_dir: DataDir,
    pub server: Server,
}

impl Subject {
    pub fn start(program: &Path) -> Self {
        let data_dir = DataDir::create_with(program);
        let server = Server::start(&data_dir, &["--max-runs", "0"]);
        Self { data_dir, server }
    }

    /// Restarts the server, so that its memory shows nothing of the preparation.
    pub fn restarted(mut self) -> Self {
        self.server.restart();
        self
    }

    async fn connect(&self) -> Connection {
        Connection::open(self.server.address).await
    }

    async fn add_tasks(&self, count: usize) {
        let mut connection = self.connect().await;
        for _ in 0..count {
            let body = r#"{"description":"d"}"#.into();
            connection.post(&uri("/api/tasks"), body).await;
        }
    }

    /// Opens a connection and sends bytes, as many as the server takes.
    async fn send(&self, bytes: &[u8]) -> TcpStream {
        let stream = TcpStream::connect(self.server.address).await;
        let mut stream = stream.expect("the server listens");
        // A server that waits with the rest of a body does not read on.
        let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(bytes)).await;
        stream
    }
}

type Running<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

pub struct Load {
    pub section: &'static str,
    pub name: &'static str,
    pub prepare: for<'a> fn(&'a Subject, Plan) -> Running<'a, ()>,
    /// Returns a remark.
    pub run: for<'a> fn(&'a Subject, Plan) -> Running<'a, String>,
}

pub const LOADS: &[Load] = &[
    Load {
        section: "list",
        name: "a list of 24 tasks of 16 MB",
        prepare: |subject, plan| Box::pin(large_tasks(subject, plan)),
        run: |subject, _| Box::pin(list(subject)),
    },
    Load {
        section: "replays",
        name: "4 idle replays of 24 events of 16 MB",
        prepare: |subject, plan| Box::pin(large_tasks(subject, plan)),
        run: |subject, _| Box::pin(replay(subject, 4)),
    },
    Load {
        section: "streams",
        name: "500 idle replays of 20,000 events of 1 KB",
        prepare: |subject, _| Box::pin(many_events(subject)),
        run: |subject, plan| Box::pin(replay(subject, plan.streams)),
    },
    Load {
        section: "bodies",
        name: "30 stalled bodies of 32 MB",
        prepare: |_, _| Box::pin(async {}),
        run: |subject, plan| Box::pin(stall(subject, plan.body)),
    },
    Load {
        section: "tags",
        name: "a task with a million tags",
        prepare: |_, _| Box::pin(async {}),
        run: |subject, plan| Box::pin(tags(subject, plan.tags)),
    },
];

/// Adds large tasks, as servers without limits could.
async fn large_tasks(subject: &Subject, plan: Plan) {
    subject.add_tasks(TASKS).await;
    let database = Database::open(subject.data_dir.database()).expect("the database is a file");
    let text = "x".repeat(plan.description);
    let tasks = database.execute("UPDATE tasks SET description = $1", [&text]);
    assert_eq!(tasks.expect("tasks can be changed"), TASKS);
    let data = serde_json::json!({ "description": text }).to_string();
    let events = database.execute(
        "INSERT INTO events (task_number, occurred_at, type, data)
         SELECT task_number, occurred_at, type, $1 FROM events WHERE task_number IS NOT NULL",
        [&data],
    );
    assert_eq!(events.expect("events can be added"), TASKS);
}

async fn many_events(subject: &Subject) {
    subject.add_tasks(1).await;
    let database = Database::open(subject.data_dir.database()).expect("the database is a file");
    let data = serde_json::json!({ "description": "x".repeat(1000) }).to_string();
    let added = database.execute(
        "INSERT INTO events (task_number, occurred_at, type, data)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         SELECT e.task_number, e.occurred_at, e.type, $1 FROM n, (SELECT * FROM events LIMIT 1) e",
        [&data],
    );
    added.expect("events can be added");
}

async fn list(subject: &Subject) -> String {
    let mut connection = subject.connect().await;
    let began = Instant::now();
    connection.get(&uri("/api/tasks")).await;
    format!("one answer, {} ms", began.elapsed().as_millis())
}

/// Opens streams from different events on, which their clients do not read, and reads beside them.
async fn replay(subject: &Subject, streams: usize) -> String {
    let alone = speed(&mut replay_after(subject, 0).await).await;
    let mut open = Vec::new();
    for place in 0..streams {
        open.push(replay_after(subject, TASKS + place % TASKS).await);
    }
    tokio::time::sleep(IDLE).await;
    let beside = speed(&mut replay_after(subject, 0).await).await;
    drop(open);
    let ratio = beside / alone;
    format!("a reader alone gets {alone:.1} MB/s, beside the others {beside:.1}: {ratio:.2}")
}

async fn replay_after(subject: &Subject, event: usize) -> TcpStream {
    let request = format!("GET /api/events?after={event} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    subject.send(request.as_bytes()).await
}

/// Reads events, and returns the megabytes per second.
async fn speed(reader: &mut TcpStream) -> f64 {
    let began = Instant::now();
    let (mut taken, mut took, mut buffer) = (0, Duration::MAX, vec![0; 64 * 1024]);
    while taken < 128_000_000 {
        let read = tokio::time::timeout(IDLE, reader.read(&mut buffer)).await;
        let Ok(Ok(count @ 1..)) = read else {
            break;
        };
        taken += u32::try_from(count).expect("the buffer is small");
        took = began.elapsed();
    }
    f64::from(taken) / 1e6 / took.as_secs_f64()
}

/// Sends bodies but for their last byte.
async fn stall(subject: &Subject, size: usize) -> String {
    let head =
        format!("POST /api/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n");
    let mut request = head.into_bytes();
    request.resize(request.len() + size - 1, b' ');
    let mut open = Vec::new();
    for _ in 0..30 {
        open.push(subject.send(&request).await);
    }
    tokio::time::sleep(IDLE).await;
    let began = Instant::now();
    subject.add_tasks(1).await;
    drop(open);
    format!("a small write takes {} ms", began.elapsed().as_millis())
}

/// Sends a list of tags, and measures small writes meanwhile.
async fn tags(subject: &Subject, count: usize) -> String {
    let tags: Vec<_> = (0..count).map(|number| format!("t{number}")).collect();
    let body = serde_json::json!({ "description": "d", "specialistTags": tags }).to_string();
    let head = format!(
        "POST /api/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = subject.send(head.as_bytes()).await;
    let mut longest = Duration::ZERO;
    let mut answer = [0; 12];
    loop {
        let began = Instant::now();
        subject.add_tasks(1).await;
        longest = longest.max(began.elapsed());
        let read = stream.read_exact(&mut answer);
        if tokio::time::timeout(Duration::from_millis(1), read)
            .await
            .is_ok()
        {
            break;
        }
    }
    let status = String::from_utf8_lossy(&answer[9..]);
    format!(
        "answered {status}; a small write takes at most {} ms",
        longest.as_millis()
    )
}
