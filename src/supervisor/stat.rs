//! The state of a process, as the kernel tells it.

use std::io::Result;

/// The part of `/proc/PID/stat` that tells whose process it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// The process has ended, and its parent has not noticed yet.
    pub is_zombie: bool,
    /// A signal has stopped the process.
    pub is_stopped: bool,
    pub parent: i32,
    pub session: i32,
    /// Hundredths of a second since the boot. Together with the pid, this identifies a process: a reused pid has a later start.
    pub started: u64,
}

impl ProcessStat {
    /// Reads a process. `None` if the kernel's text is not understood.
    pub fn read(pid: i32) -> Result<Option<Self>> {
        let text = std::fs::read(format!("/proc/{pid}/stat"))?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Option<Self> {
        // The program's name is in parentheses and may contain any character.
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        Some(Self {
            is_zombie: matches!(state, "Z" | "X"),
            is_stopped: state == "T",
            parent: fields.next()?.parse().ok()?,
            session: fields.nth(1)?.parse().ok()?,
            started: fields.nth(15)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_confusing_name_is_read() {
        let line = "7 (a) Z 1) S 3 4 5 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 8899 0 0";
        let expected = ProcessStat {
            is_zombie: false,
            is_stopped: false,
            parent: 3,
            session: 5,
            started: 8899,
        };
        assert_eq!(ProcessStat::parse(line), Some(expected));
        assert_eq!(ProcessStat::parse("7 (sh) S 3"), None);
    }

    #[test]
    fn this_process_is_read() {
        let own = ProcessStat::read(std::process::id().cast_signed());
        let own = own.unwrap().unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!((own.is_zombie, own.parent), (false, parent));
    }
}
