//! Compares the program that this package builds with another build of it, `CHORUS_BENCH_AGAINST=PATH`.
//!
//! # How it works
//!
//! Each program has its own data directory and server, filled in the same way. A row of the table is measured in short
//! rounds: one program, then the other, in the reverse order in the next round. A round gives one ratio of two
//! neighbouring measurements, so a machine that is slow for a while is slow for both. The table shows the median of
//! these ratios, and the range of the middle half of them: a range that includes 1 is no difference.
//!
//! Ratios are of speed, also where times are measured: above 1, this program is faster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::server::this_program;
use super::settings::{arguments, is_asked, is_quick};
use super::{median, percentile};

/// The argument that asks for the comparison alone.
const SECTION: &str = "compare";

const VARIABLE: &str = "CHORUS_BENCH_AGAINST";

/// The unit of a row's numbers.
#[derive(Clone, Copy)]
pub enum Unit {
    PerSecond,
    Milliseconds,
}

pub struct Comparison {
    other: PathBuf,
    rounds: usize,
    /// How long a rate is measured in one round.
    pub window: Duration,
}

impl Comparison {
    /// Returns the comparison, if the environment names another program and the command line does not ask for other
    /// sections alone.
    pub fn from_environment() -> Option<Self> {
        if !is_asked(SECTION) {
            return None;
        }
        let Some(other) = std::env::var_os(VARIABLE) else {
            assert!(
                arguments().is_empty(),
                "{VARIABLE}=PATH names the program to compare with"
            );
            return None;
        };
        let other = Path::new(&other)
            .canonicalize()
            .unwrap_or_else(|error| panic!("{VARIABLE}={}: {error}", other.display()));
        let (rounds, window) = if is_quick() { (7, 150) } else { (25, 400) };
        Some(Self {
            other,
            rounds,
            window: Duration::from_millis(window),
        })
    }

    /// Returns this program and the other one, in the order of every pair that [`Self::row`] measures.
    pub fn programs(&self) -> [&Path; 2] {
        [this_program(), &self.other]
    }

    pub fn print_header(&self, title: &str) {
        println!(
            "{title}: this program beside {} in {} rounds",
            self.other.display(),
            self.rounds
        );
        println!(
            "Speed is a ratio of rates (or of times, inverted): above 1, this program is faster"
        );
        println!(
            "{:<48} {:>12} {:>12} {:>12} {:>13}",
            "", "this", "other", "this ÷ other", "middle half"
        );
    }

    /// Measures a pair of subjects in turn and prints a row.
    pub async fn row<S>(
        &self,
        name: &str,
        unit: Unit,
        [this, other]: &mut [S; 2],
        measure: impl AsyncFn(&mut S) -> f64,
    ) {
        let (mut this_values, mut other_values) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            if round % 2 == 0 {
                this_values.push(measure(this).await);
                other_values.push(measure(other).await);
            } else {
                other_values.push(measure(other).await);
                this_values.push(measure(this).await);
            }
        }
        let mut ratios: Vec<_> = this_values
            .iter()
            .zip(&other_values)
            .map(|(this, other)| unit.speed(*this, *other))
            .collect();
        println!(
            "{name:<48} {:>12} {:>12} {:>12.3} {:>13}",
            unit.show(median(&mut this_values)),
            unit.show(median(&mut other_values)),
            median(&mut ratios),
            format!(
                "{:.3}–{:.3}",
                percentile(&mut ratios, 25),
                percentile(&mut ratios, 75)
            ),
        );
    }
}

impl Unit {
    /// Returns how many times as fast this program is as the other one.
    fn speed(self, this: f64, other: f64) -> f64 {
        match self {
            Self::PerSecond => this / other,
            Self::Milliseconds => other / this,
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Milliseconds => format!("{value:.2} ms"),
        }
    }
}

/// Returns a number of clients in words.
pub fn clients(count: usize) -> String {
    match count {
        1 => "1 client".to_owned(),
        _ => format!("{count} clients"),
    }
}
