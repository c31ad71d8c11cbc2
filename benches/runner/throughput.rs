//! Runs per second, with several at the same time.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::Plan;
use super::agent::spawn_and_wait;
use super::subject::{self, Subject};
use super::support::http::{Connection, Doors};
use super::support::median;
use super::support::server::this_program;

const IN_FLIGHT: [usize; 3] = [1, 8, 32];

/// More runs per second than any server reaches, which sets the number of tasks created beforehand.
const CEILING: u32 = 2000;

pub async fn run(plan: &Plan) {
    println!("Runs per second of an agent that exits at once");
    println!(
        "{:>9} {:>10} {:>10} {:>13}",
        "in flight", "server/s", "bare/s", "server ÷ bare"
    );
    for in_flight in IN_FLIGHT {
        let subject = Subject::start(this_program(), 0, in_flight);
        let mut rounds = Vec::new();
        for _ in 0..plan.rounds {
            let bare = bare(in_flight, plan.window);
            rounds.push((serve(&subject, in_flight, plan.window).await, bare));
        }
        // Ratios are taken within a round, so that other load on the machine affects both.
        let middle =
            |of: fn(&(f64, f64)) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
        println!(
            "{in_flight:>9} {:>10.0} {:>10.0} {:>13.3}",
            middle(|(server, _)| *server),
            middle(|(_, bare)| *bare),
            middle(|(server, bare)| server / bare),
        );
    }
    println!();
}

/// Starts agents without Chorus, on `in_flight` threads.
fn bare(in_flight: usize, window: Duration) -> f64 {
    let end = Instant::now() + window;
    let done: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..in_flight)
            .map(|_| scope.spawn(move || count_until(end)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("it does not panic"))
            .sum()
    });
    f64::from(done) / window.as_secs_f64()
}

fn count_until(end: Instant) -> u32 {
    let mut done = 0;
    loop {
        spawn_and_wait(0);
        if Instant::now() >= end {
            return done;
        }
        done += 1;
    }
}

/// Hands tasks off to agents, with `in_flight` clients.
async fn serve(subject: &Subject, in_flight: usize, window: Duration) -> f64 {
    let enough = window.as_secs_f64() * f64::from(CEILING);
    let tasks = RefCell::new(subject.add_tasks(in_flight + whole(enough)));
    let mut connections = Vec::new();
    for _ in 0..in_flight {
        connections.push(subject.connect().await);
    }
    let end = Instant::now() + window;
    let work = connections
        .into_iter()
        .map(|connection| hand_off_until(end, connection, &tasks));
    let done: u32 = join_all(work).await.into_iter().sum();
    f64::from(done) / window.as_secs_f64()
}

async fn hand_off_until(
    end: Instant,
    mut connection: Connection,
    tasks: &RefCell<Vec<Doors>>,
) -> u32 {
    let mut done = 0;
    loop {
        let doors = tasks.borrow_mut().pop().expect("enough tasks were added");
        subject::hand_off_and_wait(&mut connection, &doors).await;
        if Instant::now() >= end {
            return done;
        }
        done += 1;
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are small and positive"
)]
fn whole(size: f64) -> usize {
    size.ceil() as usize
}
