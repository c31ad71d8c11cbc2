//! Shortages of the system. They pass, so they never decide the outcome of a run.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use rustix::io::Errno;

/// The pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether the system lacks descriptors, processes, memory or room on a disk.
pub fn is_shortage(error: &Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOMEM | Errno::NOSPC | Errno::DQUOT
        )
    )
}

/// Whether an error of our own files may pass: a shortage, a read-only file system or a failing disk.
pub fn may_pass(error: &Error) -> bool {
    is_shortage(error)
        || error.kind() == ErrorKind::Interrupted
        || matches!(
            Errno::from_io_error(error),
            Some(Errno::ROFS | Errno::IO | Errno::NOLCK)
        )
}

/// Repeats an attempt until it succeeds or fails for good.
pub(super) fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match attempt() {
            Err(error) if may_pass(&error) => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_that_may_pass_are_tried_again() {
        let mut errors = vec![
            Errno::NOENT,
            Errno::IO,
            Errno::ROFS,
            Errno::NOSPC,
            Errno::AGAIN,
            Errno::MFILE,
        ];
        let attempts = std::cell::Cell::new(0);
        let ended: Result<()> = patiently(|| {
            attempts.set(attempts.get() + 1);
            Err(errors.pop().unwrap().into())
        });
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(attempts.get(), 6);
    }
}
