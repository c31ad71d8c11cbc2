//! Memory of a process.

/// Memory in kilobytes, from `/proc`.
#[derive(Clone, Copy)]
pub struct Memory {
    pub resident: u32,
    pub anonymous: u32,
}

impl Memory {
    /// Returns the most that a process ever had resident.
    pub fn most(pid: u32) -> u32 {
        kilobytes(&status(pid), "VmHWM")
    }

    pub fn of(pid: u32) -> Self {
        let status = status(pid);
        Self {
            resident: kilobytes(&status, "VmRSS"),
            anonymous: kilobytes(&status, "RssAnon"),
        }
    }
}

fn status(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is alive")
}

/// Parses a line of the form `Name:  123 kB`.
pub fn kilobytes(page: &str, name: &str) -> u32 {
    page.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok())
        .expect("Linux has the line")
}

pub fn megabytes(kilobytes: u32) -> String {
    format!("{:.1} MB", f64::from(kilobytes) / 1024.0)
}
