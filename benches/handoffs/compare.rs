//! Hand-offs and reads of tasks, compared with another build.

use std::path::Path;

use super::NO_RUNS;
use super::support::compare::{self, Comparison, Unit, clients};
use super::support::fill;
use super::support::reads::Reads;
use super::support::server::{DataDir, Server};
use super::throughput::Subject;

const WRITERS: [usize; 3] = [1, 8, 64];
const READERS: [usize; 2] = [1, 8];

/// The number of tasks with a chain of 1, and of tasks with a chain of 20.
const TASKS: usize = 500;

/// The names of [`Library::reads`].
const READS: [&str; 4] = [
    "GET a task with a chain of 1",
    "GET a task with a chain of 20",
    "GET 100 tasks",
    "GET 100 summaries",
];

/// A server with tasks that have chains.
struct Library {
    reads: [Reads; READS.len()],
    server: Server,
    _data_dir: DataDir,
}

pub async fn run(comparison: &Comparison) {
    comparison.print_header("Hand-offs and tasks");
    let window = comparison.window;
    let mut pair = comparison
        .programs()
        .map(|program| Subject::start(program, NO_RUNS));
    for count in WRITERS {
        let name = format!("hand-offs (start + complete), {}", clients(count));
        let measure = async |subject: &mut Subject| subject.measure(count, window).await.per_second;
        comparison
            .row(&name, Unit::PerSecond, &mut pair, measure)
            .await;
    }
    let mut pair = comparison.programs().map(Library::start);
    for count in READERS {
        for (nth, name) in READS.into_iter().enumerate() {
            let name = format!("{name}, {}", clients(count));
            let measure = async |Library { reads, server, .. }: &mut Library| {
                reads[nth].per_second(server.address, count, window).await
            };
            comparison
                .row(&name, Unit::PerSecond, &mut pair, measure)
                .await;
        }
    }
    println!();
}

impl Library {
    fn start(program: &Path) -> Self {
        let data_dir = DataDir::create_with(program);
        let database = fill::open(&data_dir.database());
        let [short, long] = [1, 20].map(|length| {
            let tasks = fill::add_chains(&database, TASKS, length);
            Reads::of(tasks.iter().map(|id| format!("/api/tasks/{id}")))
        });
        let tasks = Reads::of(["/api/tasks?limit=100".to_owned()]);
        let summaries = Reads::of(["/api/tasks?view=summary&limit=100".to_owned()]);
        Self {
            reads: [short, long, tasks, summaries],
            server: Server::start(&data_dir, NO_RUNS),
            _data_dir: data_dir,
        }
    }
}

impl compare::Subject for Subject {
    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl compare::Subject for Library {
    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}
