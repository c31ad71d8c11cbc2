//! The latency from a request to the agent's start, and from the agent's end to the answer.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use super::Plan;
use super::agent::{self, Stamps, spawn_and_wait};
use super::subject::{self, Subject};
use super::supervised::supervise_and_wait;
use super::support::server::this_program;
use super::support::{median, percentile};

/// The agent's working time in milliseconds, long enough for its start to be over and a waiter to be present.
const WORK: u64 = 30;

/// Times in milliseconds before the agent's start and after its end.
#[derive(Default)]
struct Samples {
    starts: Vec<f64>,
    ends: Vec<f64>,
}

pub async fn run(plan: &Plan) {
    let subject = Subject::start(this_program(), WORK, 1);
    let mut connection = subject.connect().await;
    let tasks = subject.add_tasks(plan.samples);
    let mut scratch =
        File::create(subject.data_dir.path().join("scratch")).expect("the disk has room");
    let (mut bare, mut supervised, mut server) =
        (Samples::default(), Samples::default(), Samples::default());
    let mut flushes = Vec::new();
    for (nth, doors) in tasks.iter().enumerate() {
        let began = agent::now();
        bare.add(began, spawn_and_wait(WORK));
        let dir = subject.data_dir.path().join(format!("supervised-{nth}"));
        let began = agent::now();
        let (stamps, mut supervisor) = supervise_and_wait(&dir, WORK);
        supervised.add(began, stamps);
        supervisor.wait().expect("it is a child of this process");
        let began = agent::now();
        let stamps = subject::hand_off_and_wait(&mut connection, doors).await;
        server.add(began, stamps);
        flushes.push(flush(&mut scratch));
    }
    println!("From the request to the agent's first instruction, and from its last to the answer");
    println!(
        "{:<34} {:>9} {:>9} {:>7} {:>11}",
        "", "p50", "p99", "÷ bare", "more"
    );
    print("start: bare spawn", &mut bare.starts.clone(), &bare.starts);
    print(
        "start: below a supervisor",
        &mut supervised.starts,
        &bare.starts,
    );
    print("start: POST …/handoff", &mut server.starts, &bare.starts);
    print("end: bare wait", &mut bare.ends.clone(), &bare.ends);
    print("end: below a supervisor", &mut supervised.ends, &bare.ends);
    print("end: GET …?wait=", &mut server.ends, &bare.ends);
    println!(
        "{:<34} {:>6.2} ms {:>6.2} ms",
        "one flush of 4 KB to this disk",
        median(&mut flushes),
        percentile(&mut flushes, 99)
    );
    println!();
}

impl Samples {
    fn add(&mut self, began: Duration, stamps: Stamps) {
        self.starts
            .push(milliseconds(stamps.first.saturating_sub(began)));
        self.ends
            .push(milliseconds(agent::now().saturating_sub(stamps.last)));
    }
}

fn print(name: &str, samples: &mut [f64], bare: &[f64]) {
    let bare = median(&mut bare.to_vec());
    let middle = median(samples);
    println!(
        "{name:<34} {middle:>6.2} ms {:>6.2} ms {:>7.1} {:>8.2} ms",
        percentile(samples, 99),
        middle / bare,
        middle - bare
    );
}

/// Times a sync of 4 KB, the minimum cost of a commit.
fn flush(file: &mut File) -> f64 {
    let began = Instant::now();
    file.write_all(&[0; 4096]).expect("the disk has room");
    file.sync_data().expect("the disk works");
    milliseconds(began.elapsed())
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
