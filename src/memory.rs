//! Gives memory back to the system after a load.
//!
//! # How it works
//! glibc keeps freed memory for the next request. Each thread may get an arena of its own, and the limit above which a block is
//! returned at once grows with the largest block that was freed, up to 32 MB. So a server that once had large requests would
//! stay large. A fixed limit and few arenas keep it small, and [`trim`] returns the rest, when there is something to return.
//!
//! Other C libraries have no such settings; there, nothing happens.

use std::sync::OnceLock;

/// The pages that the process may have more than at its start before freed memory is looked for.
const SPARE: usize = 8 * 1024 * 1024 / PAGE;

/// The usual size of a page. Another size makes the trims more or less frequent, nothing else.
const PAGE: usize = 4096;

/// Sets the allocator up. Call it before threads start.
pub fn set_up() {
    glibc::set_up();
}

/// Returns freed memory to the system, unless the process is hardly larger than at the first call.
pub fn trim() {
    static AT_START: OnceLock<usize> = OnceLock::new();
    if let Some(now) = resident_pages()
        && now > AT_START.get_or_init(|| now) + SPARE
    {
        glibc::trim();
    }
}

fn resident_pages() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse().ok()
}

#[cfg(target_env = "gnu")]
#[expect(
    unsafe_code,
    reason = "glibc has no other interface to its allocator while the process runs"
)]
mod glibc {
    /// Blocks from this size on are mapped on their own, and returned when they are freed.
    const MAPPED: i32 = 128 * 1024;

    /// Arenas for all threads: enough for the writer, the readers and the workers.
    const ARENAS: i32 = 2;

    pub fn set_up() {
        for (option, value) in [
            (libc::M_MMAP_THRESHOLD, MAPPED),
            (libc::M_ARENA_MAX, ARENAS),
        ] {
            // SAFETY: mallopt takes two numbers, and has no preconditions.
            unsafe { libc::mallopt(option, value) };
        }
    }

    pub fn trim() {
        // SAFETY: malloc_trim takes a number, locks the arenas by itself, and touches only free memory.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(not(target_env = "gnu"))]
mod glibc {
    pub const fn set_up() {}

    pub const fn trim() {}
}
