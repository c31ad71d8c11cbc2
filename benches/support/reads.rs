//! GET requests per second.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hyper::Uri;

use super::http::{Connection, uri};

/// Paths that clients request in turn. The next measurement continues where the last one ended.
pub struct Reads {
    paths: Vec<Uri>,
    next: Cell<usize>,
}

impl Reads {
    pub fn of(paths: impl IntoIterator<Item = String>) -> Self {
        Self {
            paths: paths.into_iter().map(|path| uri(&path)).collect(),
            next: Cell::new(0),
        }
    }

    pub async fn per_second(&self, server: SocketAddr, clients: usize, window: Duration) -> f64 {
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(Connection::open(server).await);
        }
        let begin = Instant::now() + window / 4;
        let work = connections
            .into_iter()
            .map(|connection| self.rate(connection, begin, begin + window));
        join_all(work).await.into_iter().sum()
    }

    /// Returns the rate of one client, from its first answer after the warm-up to its first answer after the end, so that
    /// only complete requests and exactly their time are counted.
    async fn rate(&self, mut connection: Connection, begin: Instant, end: Instant) -> f64 {
        let mut first = None;
        let mut answers = 0_u32;
        loop {
            let nth = self.next.get();
            self.next.set((nth + 1) % self.paths.len());
            connection.get(&self.paths[nth]).await;
            let at = Instant::now();
            match first {
                None if at >= begin => first = Some(at),
                None => {}
                Some(first) => {
                    answers += 1;
                    if at >= end {
                        return f64::from(answers) / (at - first).as_secs_f64();
                    }
                }
            }
        }
    }
}
