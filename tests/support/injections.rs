//! Shortages at random moments.

use std::collections::HashSet;

use super::{NoDescriptors, ProcessLimit, Random, Sandbox, Server};

/// A kind of shortage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Shortage {
    Descriptors,
    Processes,
    Disk,
}

/// Makes shortages for a server.
pub struct Injections {
    limit: Option<ProcessLimit>,
    made: HashSet<Shortage>,
}

/// A shortage, until it is dropped.
pub enum Injected<'a> {
    Descriptors { _limit: NoDescriptors },
    Processes(&'a ProcessLimit),
    Disk(&'a Sandbox),
}

impl Drop for Injected<'_> {
    fn drop(&mut self) {
        match self {
            Self::Descriptors { .. } => {}
            Self::Processes(limit) => limit.allow(None),
            Self::Disk(sandbox) => sandbox.free_disk(),
        }
    }
}

impl Injections {
    pub fn new() -> Self {
        Self {
            limit: ProcessLimit::new(),
            made: HashSet::new(),
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
        match (random.below(3), &self.limit) {
            (0, Some(limit)) => {
                self.made.insert(Shortage::Processes);
                limit.allow_more(u32::try_from(random.below(4)).unwrap());
                Injected::Processes(limit)
            }
            (1, _) if sandbox.has_small_disk() => {
                self.made.insert(Shortage::Disk);
                sandbox.fill_disk();
                Injected::Disk(sandbox)
            }
            _ => {
                self.made.insert(Shortage::Descriptors);
                Injected::Descriptors {
                    _limit: NoDescriptors::of(server),
                }
            }
        }
    }

    /// Whether the output of a failed hand-off says that a shortage hit the agent's own script, which exits with code 9 if it cannot
    /// print. Its complaint may be missing, because it is on the same disk.
    pub fn explain(&self, output: &str) -> bool {
        let says = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
        self.made.contains(&Shortage::Disk) && says(&["exit code 9 ", "No space left", "I/O error"])
            || self.made.contains(&Shortage::Processes)
                && says(&["Cannot fork", "Resource temporarily unavailable"])
    }
}
