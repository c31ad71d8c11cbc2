//! How long an agent has printed nothing.
//!
//! # How it works
//! Files have times of the system's clock, which may be set at any moment. Only a monotonic clock measures silence. So each look
//! at the files reads both clocks, and translates the time of a change by the newer or the older pair of readings. The
//! change happened between the two looks: a translation outside of them is wrong, because the clock was set in between.
//! Without a right translation, the agent counts as just heard. A change is noticed by size and time, because after the
//! clock was set back the newer time is the smaller one.

use std::time::{Duration, Instant, SystemTime};

use super::files::RunFiles;
use crate::clock::system_time;

/// The error of file times, which the kernel takes from its last tick.
const GRAIN: Duration = Duration::from_millis(100);

type Outputs = [Option<(u64, SystemTime)>; 2];

pub(super) struct Silence {
    outputs: Outputs,
    heard: Instant,
    looked: Look,
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    time: SystemTime,
}

impl Look {
    fn now() -> Self {
        Self {
            at: Instant::now(),
            time: system_time(),
        }
    }

    /// Translates a time of the system's clock, as if that had never been set.
    fn translate(&self, time: SystemTime) -> Option<Instant> {
        match time.duration_since(self.time) {
            Ok(later) => self.at.checked_add(later),
            Err(earlier) => self.at.checked_sub(earlier.duration()),
        }
    }
}

impl Silence {
    pub fn begin(files: &RunFiles) -> Self {
        let looked = Look::now();
        Self {
            outputs: files.outputs(),
            heard: looked.at,
            looked,
        }
    }

    /// Begins anew, because the agent has waited for another one and gets its answer.
    pub fn interrupt(&mut self) {
        self.heard = Instant::now();
    }

    /// Returns the time since the last output.
    pub fn measure(&mut self, files: &RunFiles) -> Duration {
        self.look(files.outputs(), Look::now())
    }

    fn look(&mut self, outputs: Outputs, now: Look) -> Duration {
        for (before, after) in self.outputs.iter().zip(&outputs) {
            if before != after
                && let Some((_, changed)) = after
            {
                self.heard = self.heard.max(moment_of(*changed, self.looked, now));
            }
        }
        (self.outputs, self.looked) = (outputs, now);
        now.at.saturating_duration_since(self.heard)
    }
}

/// Returns when a file changed that changed between two looks.
fn moment_of(changed: SystemTime, before: Look, now: Look) -> Instant {
    let moments = [now, before].into_iter().filter_map(|look| {
        let moment = look.translate(changed)?;
        (moment + GRAIN >= before.at && moment <= now.at).then_some(moment)
    });
    moments.max().unwrap_or(now.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures silence at seconds on the monotonic clock, the seconds on the system's clock, and the time of the output file.
    fn silences(looks: &[(u64, u64, u64)]) -> Vec<u64> {
        let began = Instant::now();
        let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let outputs = |changed| [Some((changed, time(changed))), None];
        let look = |at, system| Look {
            at: began + Duration::from_secs(at),
            time: time(system),
        };
        let (at, system, changed) = looks[0];
        let mut silence = Silence {
            outputs: outputs(changed),
            heard: look(at, system).at,
            looked: look(at, system),
        };
        let measured = looks[1..]
            .iter()
            .map(|(at, system, changed)| silence.look(outputs(*changed), look(*at, *system)));
        measured.map(|silence| silence.as_secs()).collect()
    }

    #[test]
    fn silence_begins_with_the_last_output() {
        let looks = [(0, 1000, 1000), (30, 1030, 1012), (50, 1050, 1012)];
        assert_eq!(silences(&looks), [18, 38]);
    }

    #[test]
    fn a_clock_that_is_set_forward_makes_no_silence() {
        // Output after 20 s; then the clock is set forward by an hour, and there is output 5 s later.
        let looks = [
            (0, 1000, 1000),
            (30, 4630, 1020),
            (40, 4640, 4635),
            (60, 4660, 4635),
        ];
        assert_eq!(silences(&looks), [10, 5, 25]);
    }

    #[test]
    fn a_clock_that_is_set_back_hides_no_output_and_ends_no_silence() {
        let looks = [
            (0, 5000, 5000),
            (30, 1430, 1425),
            (60, 1460, 1425),
            (90, 1490, 1425),
        ];
        assert_eq!(silences(&looks), [5, 35, 65]);
    }

    #[test]
    fn an_output_of_an_unknown_moment_counts_as_just_heard() {
        let looks = [(0, 1000, 1000), (30, 1030, 7), (40, 1040, 7)];
        assert_eq!(silences(&looks), [0, 10]);
    }
}
