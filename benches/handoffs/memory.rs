//! Memory of the server, idle and with many waiting clients.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::support::fill;
use super::support::http::{Connection, Doors, metric};
use super::support::memory::{Memory, megabytes};
use super::support::server::{DataDir, Server};
use super::{NO_RUNS, Plan};

/// Open files of a process in addition to the connections of waiting clients.
const OTHER_FILES: usize = 100;

pub async fn run(plan: &Plan) {
    let most = raise_file_limit();
    println!("Memory of the server");
    println!(
        "{:<24} {:>10} {:>10} {:>17} {:>16}",
        "", "VmRSS", "RssAnon", "VmRSS ÷ client", "RssAnon ÷ client"
    );
    let (streams, waiters) = (plan.streams.min(most), plan.waiters.min(most));
    measure(streams, "event streams", "chorus_event_streams", |_| {
        "/api/events".to_owned()
    })
    .await;
    measure(waiters, "long polls", "chorus_waiters", |task| {
        format!("/api/tasks/{task}?wait=idle&timeout=600")
    })
    .await;
    if waiters < plan.waiters {
        println!(
            "The limit of open files allows {most} connections of the planned {}; raise it with ulimit -n",
            plan.waiters
        );
    }
    println!();
}

/// Measures a server before and after the clients begin to wait.
async fn measure(clients: usize, name: &str, gauge: &str, path: impl Fn(&str) -> String) {
    let data_dir = DataDir::create();
    let server = Server::start(&data_dir, NO_RUNS);
    let idle = Memory::of(server.pid());
    print(idle, "idle", None);
    let mut observer = Connection::open(server.address).await;
    let tasks = fill::add_tasks(&fill::open(&data_dir.database()), 1);
    observer.start(&Doors::of(&tasks[0])).await;
    let path = path(&tasks[0]);
    let waiting: Vec<_> = (0..clients).map(|_| ask(server.address, &path)).collect();
    let expected = u32::try_from(clients).expect("a port number is smaller");
    while metric(&observer.text("/metrics").await, gauge) < f64::from(expected) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    print(
        Memory::of(server.pid()),
        &format!("{clients} {name}"),
        Some((idle, expected)),
    );
    drop(waiting);
}

/// Sends a request without waiting for the answer.
fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("it has just connected");
    stream
}

fn print(memory: Memory, name: &str, idle: Option<(Memory, u32)>) {
    let (resident, anonymous) = (megabytes(memory.resident), megabytes(memory.anonymous));
    let Some((idle, clients)) = idle else {
        println!("{name:<24} {resident:>10} {anonymous:>10}");
        return;
    };
    let each = |with: u32, without: u32| {
        let more = f64::from(with) - f64::from(without);
        format!("{:.0} bytes", more * 1024.0 / f64::from(clients))
    };
    println!(
        "{name:<24} {resident:>10} {anonymous:>10} {:>17} {:>16}",
        each(memory.resident, idle.resident),
        each(memory.anonymous, idle.anonymous)
    );
}

/// Raises the limit of open files to the maximum. Returns the number of clients that it allows.
fn raise_file_limit() -> usize {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit).expect("every process may use its maximum");
    maximum
        .and_then(|files| usize::try_from(files).ok())
        .map_or(usize::MAX, |files| files.saturating_sub(OTHER_FILES))
}
