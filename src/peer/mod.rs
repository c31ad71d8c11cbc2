//! The process at the other end of a connection: its user, and the run that it belongs to.
//!
//! # How it works
//! A call without a token has the rights of a person only if it comes from this machine and from the server's own user. The
//! kernel is asked once per connection: for TCP, [`diag`] finds the other end's socket, its user and its inode; a connection to
//! the Unix socket has the user and the process that connected.
//!
//! An agent is a process of the same user. So while runs are alive, the process must be found and shown not to belong to one.
//! [`holders`] finds the processes that hold the socket, and [`process`] decides what each of them is, by two signs: the mark
//! that a supervisor leaves on all its descendants, and a supervisor among the ancestors. A process that ends or changes its
//! ancestors meanwhile, a socket without a visible holder, or a reused pid is not a person.
//!
//! Nothing here knows HTTP, tokens or rights.

mod diag;
mod holders;
mod process;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustix::process::getuid;
use rustix::time::{ClockId, clock_gettime};

use crate::domain::RunId;
use crate::supervisor::unmarked_limit;
use diag::{Diag, Socket};
use holders::Holders;
use process::{Process, Standing};

/// The times that the holders of a socket are read that end meanwhile.
const ATTEMPTS: usize = 5;

/// The party at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A process of the server's user or of the superuser, who may read every token.
    OwnUser,
    /// A process of a run of this server.
    Run(RunId),
    /// A process of a run, but no supervisor of this server is above it.
    LostRun,
    OtherUser,
    OtherMachine,
    /// The kernel does not name the process, or the process changed while it was read.
    Unknown,
}

/// One connection. Clones share the answer of the kernel.
#[derive(Debug, Clone)]
pub struct Peer(Arc<Connection>);

#[derive(Debug)]
struct Connection {
    end: End,
    /// The party, once the processes were read. An unknown party is asked about again.
    found: OnceLock<Origin>,
}

#[derive(Debug)]
enum End {
    Tcp {
        local: SocketAddr,
        remote: SocketAddr,
        socket: OnceLock<Option<Socket>>,
    },
    Unix {
        uid: u32,
        pid: Option<i32>,
        /// Ticks since the boot: a process that started later has reused the pid.
        accepted: u64,
    },
    /// Named by a test.
    Known,
}

impl Peer {
    fn new(end: End) -> Self {
        Self(Arc::new(Connection {
            end,
            found: OnceLock::new(),
        }))
    }

    /// The other end of a TCP connection.
    pub fn tcp(local: SocketAddr, remote: SocketAddr) -> Self {
        Self::new(End::Tcp {
            local,
            remote,
            socket: OnceLock::new(),
        })
    }

    /// The other end of a connection to a Unix socket: the user and the process that connected.
    pub fn unix(uid: u32, pid: Option<i32>) -> Self {
        Self::new(End::Unix {
            uid,
            pid,
            accepted: ticks_since_boot(),
        })
    }

    /// A party that is known without the kernel.
    pub fn known(origin: Origin) -> Self {
        let peer = Self::new(End::Known);
        peer.0.found.get_or_init(|| origin);
        peer
    }

    /// Whether the other end is known without the socket tables.
    pub fn is_local(&self) -> bool {
        !matches!(self.0.end, End::Tcp { .. })
    }
}

/// Asks the kernel about connections.
#[derive(Debug)]
pub struct Peers {
    uid: u32,
    /// The directory of all run directories.
    runs: PathBuf,
    diag: Option<Diag>,
    holders: Holders,
    /// The limit of this process before the first agent ran. An agent can lower the limit of the server, too.
    unmarked: u64,
}

impl Peers {
    /// Opens the way to the kernel. `runs` is the canonical path of the run directories.
    pub fn new(runs: PathBuf) -> Self {
        let diag = Diag::open()
            .inspect_err(|error| tracing::warn!(%error, "cannot ask the kernel about connections"))
            .ok();
        Self {
            uid: getuid().as_raw(),
            runs,
            diag,
            holders: Holders::default(),
            unmarked: unmarked_limit(),
        }
    }

    /// Whether supervisors can mark their processes: a limit of 0 cannot be lowered.
    pub const fn can_tell_runs(&self) -> bool {
        self.unmarked > 0
    }

    /// Whether the kernel names the users of TCP connections.
    pub const fn can_ask(&self) -> bool {
        self.diag.is_some()
    }

    /// Finds the party at the other end. The processes are read only while runs are alive. In a shortage, the party stays unknown
    /// for a moment, which is an error and no verdict.
    pub async fn origin(&self, peer: &Peer, runs_are_alive: bool) -> std::io::Result<Origin> {
        if let Some(found) = peer.0.found.get() {
            return Ok(found.clone());
        }
        let (uid, inode) = match &peer.0.end {
            End::Known => return Ok(Origin::Unknown),
            End::Unix { uid, .. } => (*uid, None),
            End::Tcp {
                local,
                remote,
                socket,
            } => {
                if !remote.ip().to_canonical().is_loopback() {
                    return Ok(Origin::OtherMachine);
                }
                let ask = || self.diag.as_ref()?.other_end(*local, *remote);
                match socket.get_or_init(ask) {
                    Some(socket) => (socket.uid, Some(socket.inode)),
                    None => return Ok(Origin::Unknown),
                }
            }
        };
        if uid == 0 && self.uid != 0 {
            return Ok(Origin::OwnUser);
        }
        if uid != self.uid {
            return Ok(Origin::OtherUser);
        }
        if !runs_are_alive {
            return Ok(Origin::OwnUser);
        }
        let found = match (&peer.0.end, inode) {
            (_, Some(inode)) => self.origin_of_socket(inode).await?,
            (
                End::Unix {
                    pid: Some(pid),
                    accepted,
                    ..
                },
                None,
            ) => self.origin_of_connector(*pid, *accepted)?,
            _ => Origin::Unknown,
        };
        if found != Origin::Unknown {
            peer.0.found.get_or_init(|| found.clone());
        }
        Ok(found)
    }

    fn origin_of_connector(&self, pid: i32, accepted: u64) -> std::io::Result<Origin> {
        match Process::read(pid)? {
            Some(process) if process.started <= accepted => {
                Ok(decide(&self.standings(&[process])?))
            }
            _ => Ok(Origin::Unknown),
        }
    }

    /// Decides for the processes that share a socket. A child that a program starts holds its sockets for a moment, so holders that
    /// end meanwhile are read again.
    async fn origin_of_socket(&self, inode: u64) -> std::io::Result<Origin> {
        for _ in 1..ATTEMPTS {
            let standings = self.standings_of_holders(inode).await?;
            if !standings.is_empty() && !standings.contains(&Standing::Unclear) {
                return Ok(decide(&standings));
            }
        }
        Ok(decide(&self.standings_of_holders(inode).await?))
    }

    async fn standings_of_holders(&self, inode: u64) -> std::io::Result<Vec<Standing>> {
        self.standings(&self.holders.of(self.uid, inode).await?)
    }

    fn standings(&self, processes: &[Process]) -> std::io::Result<Vec<Standing>> {
        let standings = processes.iter();
        standings
            .map(|process| process.standing(&self.runs, self.unmarked))
            .collect()
    }
}

/// Decides for processes that share a socket: a person holds it alone.
fn decide(standings: &[Standing]) -> Origin {
    let Some((first, others)) = standings.split_first() else {
        return Origin::Unknown;
    };
    if others.iter().any(|other| other != first) {
        return Origin::LostRun;
    }
    match first {
        Standing::Unclear => Origin::Unknown,
        Standing::Person => Origin::OwnUser,
        Standing::Run(id) => Origin::Run(id.clone()),
        Standing::LostRun => Origin::LostRun,
    }
}

/// Returns the time since the boot in the unit of `/proc/PID/stat`, rounded up.
fn ticks_since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let ticks = now.tv_sec * 100 + now.tv_nsec / 10_000_000 + 1;
    ticks.cast_unsigned()
}
