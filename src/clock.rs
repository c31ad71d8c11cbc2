//! The one source of time.
//!
//! # How it works
//! The ledger's time follows the clock of the system, which somebody or a time service may set. So each reading also asks the
//! kernel for the time since boot, which nobody can set, and compares the two:
//!
//! - If the system's clock is behind, it was set back. The ledger's time never goes back: it continues at half speed until the
//!   system's clock has caught up, so that waiting takes at most twice as long.
//! - If the system's clock is ahead by more than [`STEP`], it was set forward. The ledger's time follows at once. The step is
//!   counted in [`Reading::skipped`], and the store moves its deadlines by as much, so that nothing expires early.
//! - If the system's clock is before 1970 or after 9999, it is not believed. The ledger's time continues by itself.
//!
//! [`Clock::continue_from`] does the same across a restart, from the newest stored time and a stored [`ClockMark`].

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::domain::Timestamp;

/// A smaller lead of the system's clock is an adjustment, not a step.
const STEP: i64 = 2_000_000;

/// Stored times after the year 9999 are damage, and do not move the clock.
const LAST: Timestamp = Timestamp::from_millis(LAST_MILLIS);
const LAST_MILLIS: i64 = 253_402_300_799_999;

/// A clock for the ledger, or a clock that a test sets. Clones share the time.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System(Arc<Mutex<Steady>>),
    Test(Arc<AtomicI64>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub now: Timestamp,
    /// The milliseconds by which the system's clock was set forward since the start, in total.
    pub skipped: i64,
}

/// The relation of the ledger's time to the time since boot, which shows after a restart whether the system's clock was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockMark {
    pub boot_id: String,
    /// The ledger's time minus the time since boot, in milliseconds.
    pub offset: i64,
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl Clock {
    pub fn system() -> Self {
        let steady = Steady::begin(micros_since_boot(), system_micros());
        Self(Source::System(Arc::new(Mutex::new(steady))))
    }

    /// A clock that only [`advance`](Self::advance) moves.
    pub fn standing_at(time: Timestamp) -> Self {
        Self(Source::Test(Arc::new(AtomicI64::new(time.as_millis()))))
    }

    /// # Panics
    /// Panics on the system's clock.
    pub fn advance(&self, millis: i64) {
        match &self.0 {
            Source::Test(time) => time.fetch_add(millis, Ordering::Relaxed),
            Source::System(_) => panic!("only a test clock can be advanced"),
        };
    }

    pub fn now(&self) -> Timestamp {
        self.read().now
    }

    pub fn read(&self) -> Reading {
        match &self.0 {
            Source::Test(time) => Reading {
                now: Timestamp::from_millis(time.load(Ordering::Relaxed)),
                skipped: 0,
            },
            Source::System(steady) => {
                let mut steady = steady.lock().unwrap_or_else(PoisonError::into_inner);
                // Both are read under the lock, so that a later reading never has an earlier time.
                steady.follow(micros_since_boot(), system_micros());
                steady.reading()
            }
        }
    }

    /// Continues the time of a database: not before its newest time, and aware of a step since its mark. A test clock ignores
    /// both.
    pub fn continue_from(&self, newest: Option<Timestamp>, mark: Option<&ClockMark>) {
        let Source::System(steady) = &self.0 else {
            return;
        };
        let offset = mark
            .filter(|mark| boot_id().as_deref() == Some(&mark.boot_id))
            .map(|mark| mark.offset.saturating_mul(1000));
        let newest = newest.filter(|newest| *newest <= LAST);
        let mut steady = steady.lock().unwrap_or_else(PoisonError::into_inner);
        steady.resume(newest.map(|newest| newest.as_millis() * 1000), offset);
    }

    /// Returns the mark to store, or `None` for a test clock or a kernel without a boot id.
    pub fn mark(&self) -> Option<ClockMark> {
        let Source::System(steady) = &self.0 else {
            return None;
        };
        let offset = {
            let steady = steady.lock().unwrap_or_else(PoisonError::into_inner);
            steady.time.saturating_sub(steady.since_boot) / 1000
        };
        Some(ClockMark {
            boot_id: boot_id()?,
            offset,
        })
    }
}

/// The system's clock as it stands, for programs that compare it with the times of files.
pub fn system_time() -> SystemTime {
    let micros = u64::try_from(system_micros()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}

/// The ledger's time. All numbers are microseconds.
#[derive(Debug)]
struct Steady {
    time: i64,
    since_boot: i64,
    skipped: i64,
}

impl Steady {
    const fn begin(since_boot: i64, system: i64) -> Self {
        Self {
            // A ledger that is not new has a later time.
            time: if is_believed(system) { system } else { 0 },
            since_boot,
            skipped: 0,
        }
    }

    fn follow(&mut self, since_boot: i64, system: i64) {
        let passed = since_boot.saturating_sub(self.since_boot).max(0);
        let expected = self.time.saturating_add(passed);
        self.since_boot += passed;
        self.time = if !is_believed(system) {
            expected
        } else if system < expected {
            system.max(self.time.saturating_add(passed / 2))
        } else {
            self.count_step(expected, system);
            system
        };
    }

    fn resume(&mut self, newest: Option<i64>, offset: Option<i64>) {
        if let Some(offset) = offset {
            self.count_step(self.since_boot.saturating_add(offset), self.time);
        }
        self.time = self.time.max(newest.unwrap_or(i64::MIN));
    }

    fn count_step(&mut self, expected: i64, system: i64) {
        let lead = system.saturating_sub(expected);
        if lead > STEP {
            self.skipped = self.skipped.saturating_add(lead);
        }
    }

    const fn reading(&self) -> Reading {
        Reading {
            now: Timestamp::from_millis(self.time / 1000),
            skipped: self.skipped / 1000,
        }
    }
}

/// Whether a time in microseconds can be that of the system's clock.
const fn is_believed(micros: i64) -> bool {
    0 <= micros && micros / 1000 <= LAST_MILLIS
}

fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// The time since boot, including the time in which the machine was suspended.
fn micros_since_boot() -> i64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock that everything else must use"
)]
fn system_micros() -> i64 {
    chrono::Utc::now()
        .timestamp_micros()
        .saturating_add(test_offset())
}

/// The offset that a test gives the clock of a process: `CHORUS_TEST_CLOCK` names a file with the milliseconds to add. Release
/// builds ignore the variable.
#[cfg(debug_assertions)]
fn test_offset() -> i64 {
    static FILE: std::sync::LazyLock<Option<std::ffi::OsString>> =
        std::sync::LazyLock::new(|| std::env::var_os("CHORUS_TEST_CLOCK"));
    let millis = FILE
        .as_ref()
        .and_then(|file| std::fs::read_to_string(file).ok())
        .and_then(|text| text.trim().parse::<i64>().ok());
    millis.unwrap_or_default().saturating_mul(1000)
}

#[cfg(not(debug_assertions))]
const fn test_offset() -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;
    const HOUR: i64 = 3600 * SECOND;

    /// Follows the clocks for each pair of seconds since boot and seconds on the system's clock.
    fn follow(steady: &mut Steady, readings: &[(i64, i64)]) -> Vec<i64> {
        let mut times = Vec::new();
        for (since_boot, system) in readings {
            steady.follow(since_boot * SECOND, system * SECOND);
            times.push(steady.time / SECOND);
        }
        times
    }

    #[test]
    fn time_follows_small_adjustments() {
        let mut steady = Steady::begin(0, 1000 * SECOND);
        let times = follow(&mut steady, &[(10, 1010), (20, 1021), (30, 1031)]);
        assert_eq!((times, steady.skipped), (vec![1010, 1021, 1031], 0));
    }

    #[test]
    fn a_clock_that_is_set_back_halves_the_speed_until_it_has_caught_up() {
        let mut steady = Steady::begin(0, 1000 * SECOND);
        let times = follow(
            &mut steady,
            &[(10, 950), (30, 970), (110, 1050), (140, 1080)],
        );
        assert_eq!(times, [1005, 1015, 1055, 1080]);
        assert_eq!(steady.skipped, 0);
    }

    #[test]
    fn a_clock_that_is_set_forward_is_followed_and_the_step_is_counted() {
        let mut steady = Steady::begin(0, 1000 * SECOND);
        let times = follow(&mut steady, &[(10, 4610), (20, 4620), (30, 8230)]);
        assert_eq!(times, [4610, 4620, 8230]);
        assert_eq!(steady.skipped, 2 * HOUR);
    }

    #[test]
    fn a_restart_continues_after_the_newest_time_and_notices_a_step() {
        // The clock was set back since the newest time.
        let mut steady = Steady::begin(0, 1000 * SECOND);
        steady.resume(Some(2000 * SECOND), Some(1990 * SECOND));
        assert_eq!((steady.time, steady.skipped), (2000 * SECOND, 0));
        // The clock was set forward by an hour.
        let mut steady = Steady::begin(100 * SECOND, 2000 * SECOND + HOUR);
        steady.resume(Some(1950 * SECOND), Some(1900 * SECOND));
        assert_eq!(steady.time, 2000 * SECOND + HOUR);
        assert_eq!(steady.skipped, HOUR);
        // Another boot, so time may have passed.
        let mut steady = Steady::begin(0, 2000 * SECOND + HOUR);
        steady.resume(Some(1950 * SECOND), None);
        assert_eq!(steady.skipped, 0);
    }

    #[test]
    fn a_clock_beyond_all_years_is_not_followed() {
        let mut steady = Steady::begin(0, 1000 * SECOND);
        let beyond = LAST_MILLIS / 1000 + 1;
        let times = follow(
            &mut steady,
            &[(10, beyond), (20, -5), (30, i64::MAX / SECOND), (40, 1040)],
        );
        assert_eq!(times, [1010, 1020, 1030, 1040]);
        assert_eq!(steady.skipped, 0);
        // The first times after a start are those of the ledger.
        let mut steady = Steady::begin(0, beyond * SECOND);
        steady.resume(Some(2000 * SECOND), Some(2000 * SECOND));
        let times = follow(&mut steady, &[(10, beyond), (20, 2100)]);
        assert_eq!(times, [2010, 2100]);
        assert_eq!(steady.skipped, 80 * SECOND);
    }

    #[test]
    fn a_damaged_time_does_not_move_the_clock() {
        let clock = Clock::system();
        clock.continue_from(Some(Timestamp::from_millis(i64::MAX)), None);
        assert!(clock.now() < LAST);
    }
}
