//! Shortages at random moments.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::{NoDescriptors, ProcessLimit, Random, Sandbox, Server};

/// A kind of shortage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shortage {
    Descriptors,
    Processes,
    Disk,
}

/// Makes shortages for a server.
pub struct Injections {
    limit: Option<ProcessLimit>,
    made: Arc<Mutex<Vec<Made>>>,
}

/// A shortage that was made, and its time.
struct Made {
    shortage: Shortage,
    began: Instant,
    ended: Option<Instant>,
}

/// A shortage, until it is dropped.
pub struct Injected<'a> {
    means: Means<'a>,
    /// All that were made. This one is the last: there is one at a time.
    made: Arc<Mutex<Vec<Made>>>,
}

enum Means<'a> {
    Descriptors { _limit: NoDescriptors },
    Processes(&'a ProcessLimit),
    Disk(&'a Sandbox),
}

impl Drop for Injected<'_> {
    fn drop(&mut self) {
        match self.means {
            Means::Descriptors { .. } => {}
            Means::Processes(limit) => limit.allow(None),
            Means::Disk(sandbox) => sandbox.free_disk(),
        }
        let mut made = self.made.lock().unwrap();
        made.last_mut().unwrap().ended = Some(Instant::now());
    }
}

impl Injections {
    pub fn new() -> Self {
        Self {
            limit: ProcessLimit::new(),
            made: Arc::default(),
        }
    }

    /// Limits the processes of a server that has just started, and of its agents.
    pub fn follow(&self, server: &Server) {
        if let Some(limit) = &self.limit {
            limit.add(server.pid());
        }
    }

    pub fn make<'a>(
        &'a mut self,
        sandbox: &'a Sandbox,
        server: &Server,
        random: &mut Random,
    ) -> Injected<'a> {
        let began = Instant::now();
        let (shortage, means) = match (random.below(3), &self.limit) {
            (0, Some(limit)) => {
                limit.allow_more(u32::try_from(random.below(4)).unwrap());
                (Shortage::Processes, Means::Processes(limit))
            }
            (1, _) if sandbox.has_small_disk() => {
                sandbox.fill_disk();
                (Shortage::Disk, Means::Disk(sandbox))
            }
            _ => {
                let means = Means::Descriptors {
                    _limit: NoDescriptors::of(server),
                };
                (Shortage::Descriptors, means)
            }
        };
        self.made.lock().unwrap().push(Made {
            shortage,
            began,
            ended: None,
        });
        Injected {
            means,
            made: self.made.clone(),
        }
    }

    /// Counts the shortages by kind, to be printed.
    pub fn totals(&self) -> String {
        let made = self.made.lock().unwrap();
        let kinds = [
            (Shortage::Descriptors, "descriptors"),
            (Shortage::Processes, "processes"),
            (Shortage::Disk, "room on the disk"),
        ];
        let count = |kind| made.iter().filter(|made| made.shortage == kind).count();
        let counted = kinds.map(|(kind, name)| format!(", {} times without {name}", count(kind)));
        counted.concat()
    }

    /// Whether the output of a failed hand-off says that a shortage at that time hit the agent's own script, which exits with code 9 if
    /// it cannot print. Its complaint may be missing, because it is on the same disk.
    pub fn explain(&self, output: &str, from: Instant, to: Instant) -> bool {
        let says = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
        let made = self.made.lock().unwrap();
        let mut meanwhile = made
            .iter()
            .filter(|made| made.began <= to && made.ended.is_none_or(|ended| from <= ended));
        meanwhile.any(|made| match made.shortage {
            Shortage::Disk => says(&["exit code 9", "No space left", "I/O error"]),
            Shortage::Processes => says(&["Cannot fork", "Resource temporarily unavailable"]),
            Shortage::Descriptors => false,
        })
    }
}
