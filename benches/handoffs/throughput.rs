//! Hand-offs per second: with batching, without batching, and in SQLite alone.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rusqlite::Connection as Database;

use super::raw::Raw;
use super::support::http::{Connection, Doors, metric};
use super::support::server::{DataDir, Server, this_program};
use super::support::{fill, median, percentile, whole};
use super::{NO_RUNS, Plan};

const CLIENTS: [usize; 4] = [1, 8, 64, 256];

/// The number of hand-offs per task, so that chains stay short.
const PER_TASK: u8 = 10;

/// More hand-offs per second than any server reaches, which sets the number of tasks created beforehand.
const CEILING: f64 = 30_000.0;

/// A server, and a connection that adds tasks directly to its database.
pub struct Subject {
    database: Database,
    pub server: Server,
    _data_dir: DataDir,
}

/// One measurement of a server.
pub struct Load {
    pub per_second: f64,
    latencies: Vec<Duration>,
    mean_batch: f64,
}

pub async fn run(plan: &Plan) {
    println!("Hand-offs (start + complete) over HTTP; latency is that of one hand-off");
    println!(
        "{:>7} {:>9} {:>9} {:>9} {:>12} {:>10} {:>9} {:>16} {:>10}",
        "clients",
        "server/s",
        "p50",
        "p99",
        "unbatched/s",
        "mean batch",
        "raw/s",
        "server÷unbatched",
        "server÷raw"
    );
    let batched = Subject::start(this_program(), NO_RUNS);
    let unbatched = Subject::start(this_program(), &["--max-runs", "0", "--max-batch", "1"]);
    let raw_dir = DataDir::create();
    let mut raw = Raw::open(&raw_dir.database());
    for clients in CLIENTS {
        let mut rounds = Vec::new();
        for _ in 0..plan.rounds {
            let load = batched.measure(clients, plan.window).await;
            let unbatched = unbatched.measure(clients, plan.window).await.per_second;
            let batch = whole(load.mean_batch);
            let raw = raw.measure(clients, batch, PER_TASK, plan.window);
            rounds.push((load, unbatched, raw));
        }
        // Ratios are taken within a round, so that other load on the machine affects all three.
        let middle = |of: fn(&(Load, f64, f64)) -> f64| {
            median(&mut rounds.iter().map(of).collect::<Vec<_>>())
        };
        let mut latencies: Vec<_> = rounds
            .iter()
            .flat_map(|(load, ..)| &load.latencies)
            .map(|latency| latency.as_secs_f64() * 1e3)
            .collect();
        println!(
            "{clients:>7} {:>9.0} {:>6.2} ms {:>6.2} ms {:>12.0} {:>10.1} {:>9.0} {:>16.2} {:>10.2}",
            middle(|(load, ..)| load.per_second),
            median(&mut latencies),
            percentile(&mut latencies, 99),
            middle(|(_, unbatched, _)| *unbatched),
            middle(|(load, ..)| load.mean_batch),
            middle(|(.., raw)| *raw),
            middle(|(load, unbatched, _)| load.per_second / unbatched),
            middle(|(load, _, raw)| load.per_second / raw),
        );
    }
    println!();
}

impl Subject {
    pub fn start(program: &Path, arguments: &[&str]) -> Self {
        let data_dir = DataDir::create_with(program);
        let server = Server::start(&data_dir, arguments);
        Self {
            database: fill::open(&data_dir.database()),
            server,
            _data_dir: data_dir,
        }
    }

    pub async fn measure(&self, clients: usize, window: Duration) -> Load {
        let warm_up = window / 4;
        let enough = (window + warm_up).as_secs_f64() * CEILING / f64::from(PER_TASK);
        let tasks = RefCell::new(fill::add_tasks(&self.database, clients + whole(enough)));
        let mut observer = Connection::open(self.server.address).await;
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(Connection::open(self.server.address).await);
        }
        let before = observer.text("/metrics").await;
        let begin = Instant::now() + warm_up;
        let end = begin + window;
        let work = connections
            .into_iter()
            .map(|connection| hand_off_until(end, connection, &tasks));
        let mut done: Vec<_> = join_all(work).await.into_iter().flatten().collect();
        let after = observer.text("/metrics").await;
        let more = |name| metric(&after, name) - metric(&before, name);
        done.retain(|(at, _)| (begin..end).contains(at));
        let handoffs = u32::try_from(done.len()).expect("it is below the ceiling");
        Load {
            per_second: f64::from(handoffs) / window.as_secs_f64(),
            latencies: done.into_iter().map(|(_, latency)| latency).collect(),
            mean_batch: more("chorus_store_batch_size_sum") / more("chorus_store_batch_size_count"),
        }
    }
}

/// Hands off task after task. Returns the end and the duration of each hand-off.
async fn hand_off_until(
    end: Instant,
    mut connection: Connection,
    tasks: &RefCell<Vec<String>>,
) -> Vec<(Instant, Duration)> {
    let mut done = Vec::new();
    loop {
        let task = tasks.borrow_mut().pop().expect("enough tasks were added");
        let doors = Doors::of(&task);
        for _ in 0..PER_TASK {
            let began = Instant::now();
            if began >= end {
                return done;
            }
            connection.hand_off(&doors).await;
            done.push((Instant::now(), began.elapsed()));
        }
    }
}
