//! Probes whether the system has enough of everything.

use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

/// The resources that a probe must find.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    pub bytes: usize,
    pub descriptors: usize,
    pub threads: usize,
}

impl Resources {
    /// Takes the resources for a moment. The bytes are written to a nameless file in `folder`.
    pub fn probe(self, folder: &Path) -> Result<()> {
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(&vec![b'x'; self.bytes])?;
        self.probe_process()
    }

    /// Takes the resources of the process alone.
    pub fn probe_process(self) -> Result<()> {
        let descriptors: Result<Vec<_>> = (0..self.descriptors)
            .map(|_| File::open("/dev/null"))
            .collect();
        let (sender, _) = tokio::sync::broadcast::channel::<()>(1);
        let threads: Result<Vec<_>> = (0..self.threads)
            .map(|_| {
                let mut end = sender.subscribe();
                std::thread::Builder::new()
                    .stack_size(64 * 1024)
                    .spawn(move || end.blocking_recv())
            })
            .collect();
        drop(sender);
        for thread in threads? {
            // The value is the end of the channel.
            let _ = thread.join();
        }
        descriptors.map(drop)
    }
}
