//! Waits until the system has what a server needs to start.
//!
//! The async runtime panics if it cannot start its threads, so the wait comes first. Until then no signal is handled: SIGTERM and
//! SIGINT end the process.

use std::path::Path;
use std::time::Duration;

use super::serve::raise_descriptor_limit;
use super::ui::Ui;
use crate::runner::Resources;
use crate::supervisor::is_shortage;

/// The resources of a server without clients and runs, with a reserve.
const ENOUGH: Resources = Resources {
    bytes: 1024 * 1024,
    descriptors: 64,
    threads: 16,
};

/// The pause before the next look.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits for descriptors, threads and, in a data directory that exists, room on the disk. Any other problem is left to the start
/// itself.
pub(super) fn wait(ui: Ui, data_dir: &Path) {
    raise_descriptor_limit();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let needed = Resources {
        threads: ENOUGH.threads + cores,
        ..ENOUGH
    };
    let mut is_told = false;
    loop {
        let probed = if data_dir.is_dir() {
            needed.probe(data_dir)
        } else {
            needed.probe_process()
        };
        match probed {
            Err(error) if is_shortage(&error) => {
                if !std::mem::replace(&mut is_told, true) {
                    ui.notice(format_args!(
                        "the system has not enough file descriptors, processes, memory or room in {} for a server: {error}; waiting",
                        data_dir.display()
                    ));
                }
            }
            _ => return,
        }
        std::thread::sleep(PAUSE);
    }
}
