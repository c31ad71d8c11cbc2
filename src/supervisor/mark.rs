//! The mark of a run's processes: a lowered resource limit.
//!
//! Every process inherits its limits, and without the privilege of the superuser it can lower a hard limit but never raise it. An
//! environment can be emptied, a session left and a parent killed; this mark stays. The kernel has not enforced the limit of file
//! locks since Linux 2.4, so the mark has no other effect.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit of a run's processes if the server has none.
const BELOW_INFINITY: u64 = 1 << 62;

/// Marks this process and all that it starts. A mark inside another run is one lower.
pub(super) fn mark() -> rustix::io::Result<()> {
    let lowered = match getrlimit(Resource::Locks).maximum {
        None => BELOW_INFINITY,
        Some(limit) => limit.saturating_sub(1),
    };
    let limit = Rlimit {
        current: Some(lowered),
        maximum: Some(lowered),
    };
    setrlimit(Resource::Locks, limit)
}

/// Returns the limit of a process that no supervisor below this process has marked.
pub fn unmarked_limit() -> u64 {
    getrlimit(Resource::Locks).maximum.unwrap_or(u64::MAX)
}

/// Returns the limit in the text of `/proc/PID/limits`.
pub fn marked_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max file locks"))?;
    match line.split_whitespace().nth(1)? {
        "unlimited" => Some(u64::MAX),
        limit => limit.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_this_process_is_read_from_proc() {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        assert_eq!(marked_limit(&limits), Some(unmarked_limit()));
        assert_eq!(marked_limit("Max file locks  5  4  locks\n"), Some(4));
        assert_eq!(marked_limit("Max cpu time  5  4  seconds\n"), None);
    }
}
