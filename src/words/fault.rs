//! The sentences of a database or a disk that cannot be used.

use crate::domain::Fault;

pub const fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Locked => {
            "The database is locked by another process. End that process, or try again later"
        }
        Fault::Full => "The server's disk is full. Free some space, then try again",
        Fault::ReadOnly => {
            "The server's data directory is read-only. Make its file system writable, then try again"
        }
        Fault::Io => "The server's disk does not read or write. Check the disk, then try again",
        Fault::Short => "The server has no memory or file descriptors left. Try again later",
        Fault::Gone => {
            "The database file was deleted or replaced while the server was running. Stop the server, then restore the file"
        }
        Fault::Damaged => "The database is damaged. Stop the server, then restore a backup",
    }
}
