//! Compares this build with another one, `CHORUS_BENCH_AGAINST=PATH`.
//!
//! Cargo builds a benchmark's program with the features that dev-dependencies enable, unlike `cargo build --release`. Use
//! `CHORUS_BENCH_PROGRAM=PATH` to measure a program that was built the same way as the other one. `CHORUS_BENCH_ROUNDS` sets
//! the number of rounds; a busy machine needs more.
//!
//! # How it works
//!
//! Each program has its own data directory and server, filled in the same way. A row of the table is measured in short
//! rounds: one program, then the other, and in reverse order in the next round. Each round gives the ratio of two consecutive
//! measurements, so a temporarily slow machine is slow for both. The table shows the median of these ratios and their
//! interquartile range. The last column is the ratio of the 90th percentiles of both speeds: on a busy machine, these are the
//! rounds that other processes disturbed least.
//!
//! Both servers are restarted every few rounds, because a process can stay on a contended core for its whole life:
//! without restarts, a program differed from itself by a factor of two in every round.
//!
//! Ratios are of speed, also where times are measured: above 1, this program is faster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::server::{Server, this_program};
use super::settings::{arguments, is_quick, is_selected, program, setting};
use super::{median, percentile};

/// The argument that selects only the comparison.
const SECTION: &str = "compare";

const VARIABLE: &str = "CHORUS_BENCH_AGAINST";

/// Rounds between restarts. The number is odd, so that each program is the first one after every other restart.
const ROUNDS_OF_A_SERVER: usize = 5;

/// A server on its own data.
pub trait Subject {
    fn server(&mut self) -> &mut Server;
}

/// The unit of a row's numbers.
#[derive(Clone, Copy)]
pub enum Unit {
    PerSecond,
    Milliseconds,
}

pub struct Comparison {
    other: PathBuf,
    rounds: usize,
    /// The duration of one measurement.
    pub window: Duration,
}

impl Comparison {
    /// Returns the comparison, if the environment names another program and the command line does not select only other
    /// sections.
    pub fn from_environment() -> Option<Self> {
        if !is_selected(SECTION) {
            return None;
        }
        let Some(other) = program(VARIABLE) else {
            assert!(
                arguments().is_empty(),
                "set {VARIABLE}=PATH to the program to compare with"
            );
            return None;
        };
        let (rounds, window) = if is_quick() { (15, 100) } else { (41, 200) };
        Some(Self {
            other,
            rounds: setting("CHORUS_BENCH_ROUNDS", rounds),
            window: Duration::from_millis(window),
        })
    }

    /// Returns this program and the other one, in the order of every pair that [`Self::row`] measures.
    pub fn programs(&self) -> [&Path; 2] {
        [this_program(), &self.other]
    }

    pub fn print_header(&self, title: &str) {
        println!(
            "{title}, in {} rounds; this is {}, other is {}",
            self.rounds,
            this_program().display(),
            self.other.display()
        );
        println!("Ratios are of speed, also for times: above 1, this is faster");
        println!(
            "{:<44} {:>10} {:>10} {:>12} {:>13} {:>8}",
            "", "this", "other", "this ÷ other", "middle half", "at best"
        );
    }

    /// Measures a pair of subjects in turn and prints a row.
    pub async fn row<S: Subject>(
        &self,
        name: &str,
        unit: Unit,
        pair: &mut [S; 2],
        measure: impl AsyncFn(&mut S) -> f64,
    ) {
        let mut values = [Vec::new(), Vec::new()];
        for round in 0..self.rounds {
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            if round % ROUNDS_OF_A_SERVER == 0 {
                for nth in order {
                    pair[nth].server().restart();
                    // Fills the caches of the new process.
                    measure(&mut pair[nth]).await;
                }
            }
            for nth in order {
                values[nth].push(measure(&mut pair[nth]).await);
            }
        }
        let [mut this_values, mut other_values] = values;
        let mut ratios: Vec<_> = this_values
            .iter()
            .zip(&other_values)
            .map(|(this, other)| unit.speed(*this, *other))
            .collect();
        println!(
            "{name:<44} {:>10} {:>10} {:>12.3} {:>13} {:>8.3}",
            unit.show(median(&mut this_values)),
            unit.show(median(&mut other_values)),
            median(&mut ratios),
            format!(
                "{:.3}–{:.3}",
                percentile(&mut ratios, 25),
                percentile(&mut ratios, 75)
            ),
            unit.speed(
                unit.at_best(&mut this_values),
                unit.at_best(&mut other_values)
            ),
        );
    }
}

impl Unit {
    /// Returns the speed of this program divided by the speed of the other one.
    fn speed(self, this: f64, other: f64) -> f64 {
        match self {
            Self::PerSecond => this / other,
            Self::Milliseconds => other / this,
        }
    }

    fn at_best(self, values: &mut [f64]) -> f64 {
        match self {
            Self::PerSecond => percentile(values, 90),
            Self::Milliseconds => percentile(values, 10),
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Milliseconds => format!("{value:.2} ms"),
        }
    }
}

pub fn clients(count: usize) -> String {
    match count {
        1 => "1 client".to_owned(),
        _ => format!("{count} clients"),
    }
}
