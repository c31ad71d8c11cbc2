//! A small and a large ledger of sessions, each with its own server.

use std::path::Path;
use std::time::{Duration, Instant};

use super::ledger::{self, PER_SESSION};
use super::support::http::{Connection, uri};
use super::support::memory::megabytes;
use super::support::server::{DataDir, Server, this_program};
use super::{NO_RUNS, Plan};

/// Hand-offs in the small ledger.
const SMALL: usize = 1000;

/// A ledger of sessions with its server and a client.
pub struct Subject {
    pub handoffs: usize,
    /// The start of the last round over all sessions.
    pub last_round_at: i64,
    pub server: Server,
    connection: Connection,
    _data_dir: DataDir,
}

/// Returns the numbers of sessions in the small and the large ledger.
pub fn sizes(plan: &Plan) -> [usize; 2] {
    [SMALL, plan.handoffs.max(SMALL)].map(|handoffs| handoffs / PER_SESSION)
}

pub async fn fill(plan: &Plan) -> [Subject; 2] {
    let [small, large] = sizes(plan);
    [
        Subject::fill(this_program(), small).await,
        Subject::fill(this_program(), large).await,
    ]
}

impl Subject {
    pub async fn fill(program: &Path, sessions: usize) -> Self {
        let data_dir = DataDir::create_with(program);
        let began = Instant::now();
        let last_round_at = ledger::add_sessions(&data_dir.database(), sessions);
        let filled = began.elapsed();
        let file = std::fs::metadata(data_dir.database()).expect("it has just been filled");
        let kilobytes = u32::try_from(file.len() / 1024).expect("the file is smaller than 4 TB");
        let handoffs = sessions * PER_SESSION;
        println!(
            "{handoffs} hand-offs in {sessions} sessions: {}, inserted in {filled:.1?}",
            megabytes(kilobytes)
        );
        let server = Server::start(&data_dir, NO_RUNS);
        Self {
            handoffs,
            last_round_at,
            connection: Connection::open(server.address).await,
            server,
            _data_dir: data_dir,
        }
    }

    pub fn sessions(&self) -> usize {
        self.handoffs / PER_SESSION
    }

    pub async fn time(&mut self, path: &str) -> Duration {
        let path = uri(path);
        let began = Instant::now();
        self.connection.get(&path).await;
        began.elapsed()
    }
}
