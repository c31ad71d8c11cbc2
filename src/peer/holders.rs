//! The processes that hold a socket.
//!
//! # How it works
//! Only the descriptors in `/proc` lead from a socket to its processes, so all descriptors of the user are read. One reading
//! serves every question that was asked before it began: ten thousand connections at once cost a few readings, not ten thousand.

use std::collections::HashMap;
use std::fs::read_dir;
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;

use super::process::{Process, unless_short};

type Sockets = HashMap<u64, Vec<Process>>;

#[derive(Debug, Default)]
pub(super) struct Holders(Mutex<Option<Reading>>);

#[derive(Debug, Clone)]
struct Reading {
    begun: Instant,
    sockets: Arc<Sockets>,
}

impl Holders {
    /// Returns the processes of a user, other than this one, that hold a socket.
    pub async fn of(&self, uid: u32, inode: u64) -> Result<Vec<Process>> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some(reading) = last.as_ref().filter(|reading| reading.begun >= asked) {
            return Ok(reading.sockets.get(&inode).cloned().unwrap_or_default());
        }
        let begun = Instant::now();
        let read = tokio::task::spawn_blocking(move || read_all(uid)).await;
        let sockets = Arc::new(read.map_err(std::io::Error::other)??);
        let found = sockets.get(&inode).cloned().unwrap_or_default();
        *last = Some(Reading { begun, sockets });
        Ok(found)
    }
}

/// Reads the sockets of all processes of a user.
fn read_all(uid: u32) -> Result<Sockets> {
    let mut sockets = Sockets::new();
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let pids = read_dir("/proc")?.flatten().filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let is_the_users = entry.metadata().is_ok_and(|folder| folder.uid() == uid);
        (is_the_users && pid != own).then_some(pid)
    });
    for pid in pids {
        let Some(process) = Process::read(pid)? else {
            continue;
        };
        let inodes = inodes(pid)?;
        // Another process may have taken the pid while the descriptors were read.
        if !inodes.is_empty() && Process::read(pid)?.as_ref() == Some(&process) {
            for inode in inodes {
                sockets.entry(inode).or_default().push(process.clone());
            }
        }
    }
    Ok(sockets)
}

fn inodes(pid: i32) -> Result<Vec<u64>> {
    let entries = unless_short(read_dir(format!("/proc/{pid}/fd")))?;
    let links = entries.into_iter().flatten().flatten();
    let mut inodes: Vec<u64> = links
        .filter_map(|link| {
            let target = std::fs::read_link(link.path()).ok()?;
            let inode = target.to_str()?.strip_prefix("socket:[")?;
            inode.strip_suffix(']')?.parse().ok()
        })
        .collect();
    inodes.sort_unstable();
    inodes.dedup();
    Ok(inodes)
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn every_process_that_shares_a_socket_is_found() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let inode = rustix::fs::fstat(socket.as_fd()).unwrap().st_ino;
        let start = || {
            let copy: OwnedFd = socket.try_clone().unwrap().into();
            Command::new("/bin/cat")
                .stdin(Stdio::from(copy))
                .spawn()
                .unwrap()
        };
        let mut children = [start(), start()];
        let uid = rustix::process::getuid().as_raw();
        let mut found: Vec<_> = Holders::default()
            .of(uid, inode)
            .await
            .unwrap()
            .iter()
            .map(|process| process.pid.cast_unsigned())
            .collect();
        found.sort_unstable();
        let mut pids = children.each_ref().map(std::process::Child::id);
        pids.sort_unstable();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found, pids);
    }
}
