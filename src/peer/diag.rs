//! The kernel's socket tables, through `NETLINK_SOCK_DIAG`: one question and one answer, however many sockets there are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY`, the type of a question and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// Every state of a socket: an established connection may be half closed.
const ALL_STATES: u32 = u32::MAX;
/// `INET_DIAG_NOCOOKIE`.
const NO_COOKIE: [u8; 8] = [0xff; 8];
const HEAD: usize = 16;
/// `struct inet_diag_msg`, without attributes.
const ANSWER: usize = 72;

/// The socket at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    pub uid: u32,
    pub inode: u64,
}

/// A way to ask the kernel.
#[derive(Debug)]
pub(super) struct Diag(Mutex<Netlink>);

#[derive(Debug)]
struct Netlink {
    socket: OwnedFd,
    /// The number of the last question, which its answer repeats.
    last: u32,
}

impl Diag {
    /// Opens a netlink socket, and asks a question without an answer to see whether the kernel understands it.
    pub fn open() -> std::io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(SOCK_DIAG),
        )?;
        connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        let diag = Self(Mutex::new(Netlink { socket, last: 0 }));
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        match diag.ask(nowhere, nowhere) {
            Ok(_) | Err(Errno::NOENT) => Ok(diag),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds the client's socket of a connection that the server accepted. A socket that its process has closed has no owner,
    /// and is not found.
    pub fn other_end(&self, local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
        let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
        let (local, remote) = (canonical(local), canonical(remote));
        let answer = match self.ask(remote, local) {
            Ok(answer) => answer?,
            Err(error) => {
                tracing::debug!(%error, "the kernel does not know the other end of a connection");
                return None;
            }
        };
        let (socket, from, to) = read(&answer)?;
        // Without such a connection the kernel answers with a listener.
        (from == remote && to == local && socket.inode != 0).then_some(socket)
    }

    /// Asks for the socket of a connection from one address to another.
    fn ask(&self, from: SocketAddr, to: SocketAddr) -> Result<Option<Vec<u8>>, Errno> {
        let mut netlink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        netlink.last = netlink.last.wrapping_add(1);
        let number = netlink.last;
        send(
            &netlink.socket,
            &question(number, from, to),
            SendFlags::empty(),
        )?;
        let mut buffer = [0; 1024];
        // The kernel has put the answer into the queue before `send` returned.
        let answer = loop {
            let (read, _) = recv(&netlink.socket, &mut buffer[..], RecvFlags::DONTWAIT)?;
            if number32(&buffer[..read], 8) == Some(number) {
                break &buffer[..read];
            }
        };
        match number16(answer, 4) {
            Some(BY_FAMILY) => Ok(answer.get(HEAD..HEAD + ANSWER).map(<[u8]>::to_vec)),
            Some(ERROR) => {
                let code = number32(answer, HEAD).unwrap_or_default().cast_signed();
                Err(Errno::from_raw_os_error(code.wrapping_neg()))
            }
            _ => Ok(None),
        }
    }
}

/// Builds `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn question(number: u32, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let family = match from {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let mut bytes = Vec::with_capacity(HEAD + 56);
    bytes.extend(72_u32.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    bytes.extend(number.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend([family.as_raw().to_ne_bytes()[0], TCP, 0, 0]);
    bytes.extend(ALL_STATES.to_ne_bytes());
    bytes.extend(from.port().to_be_bytes());
    bytes.extend(to.port().to_be_bytes());
    bytes.extend(octets(from.ip()));
    bytes.extend(octets(to.ip()));
    bytes.extend([0; 4]);
    bytes.extend(NO_COOKIE);
    bytes
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&ip.octets());
            octets
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// Reads `struct inet_diag_msg`: the socket and its two addresses.
fn read(answer: &[u8]) -> Option<(Socket, SocketAddr, SocketAddr)> {
    let is_v4 = u16::from(*answer.first()?) == AddressFamily::INET.as_raw();
    let port = |at: usize| Some(u16::from_be_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    let ip = |at: usize| {
        let octets: [u8; 16] = answer.get(at..at + 16)?.try_into().ok()?;
        let [a, b, c, d, ..] = octets;
        Some(if is_v4 {
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        } else {
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        })
    };
    let from = SocketAddr::new(ip(8)?, port(4)?);
    let to = SocketAddr::new(ip(24)?, port(6)?);
    let socket = Socket {
        uid: number32(answer, 64)?,
        inode: number32(answer, 68)?.into(),
    };
    Some((socket, from, to))
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn the_kernel_names_user_and_inode_of_the_other_end() {
        let diag = Diag::open().unwrap();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                let text = format!("{address} cannot be used here: left out\n");
                std::io::stderr().write_all(text.as_bytes()).unwrap();
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, remote) = listener.accept().unwrap();
            let local = server.local_addr().unwrap();
            let found = diag.other_end(local, remote).unwrap();
            assert_eq!(found.uid, rustix::process::getuid().as_raw());
            let stat = rustix::fs::fstat(client.as_fd()).unwrap();
            assert_eq!(found.inode, stat.st_ino);
            // A closed socket belongs to nobody.
            drop(client);
            assert_eq!(diag.other_end(local, remote), None);
        }
    }

    #[test]
    fn a_listener_is_not_the_other_end() {
        let diag = Diag::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let address = listener.local_addr().unwrap();
        assert_eq!(diag.other_end(nobody, address), None);
        assert_eq!(diag.other_end(address, nobody), None);
    }
}
