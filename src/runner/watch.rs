//! Waits for files to grow, with inotify.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::sync::watch as signal;

/// Watches files for as long as their [`Watch`] lives.
#[derive(Debug, Clone)]
pub(super) struct Watcher {
    inotify: Arc<OwnedFd>,
    watched: Arc<Mutex<HashMap<i32, signal::Sender<u64>>>>,
}

#[derive(Debug)]
pub(super) struct Watch {
    watcher: Watcher,
    descriptor: i32,
    growth: signal::Receiver<u64>,
}

impl Watcher {
    /// Starts the inotify thread, which runs until the process ends.
    pub fn start() -> std::io::Result<Self> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let watcher = Self {
            inotify,
            watched: Arc::default(),
        };
        let listener = watcher.clone();
        std::thread::Builder::new()
            .name("chorus-watcher".into())
            .stack_size(64 * 1024)
            .spawn(move || listener.listen())?;
        Ok(watcher)
    }

    /// Watches a file. No write after this call is missed.
    pub fn watch(&self, path: &Path) -> std::io::Result<Watch> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        // inotify returns the same descriptor for the same file.
        let descriptor = inotify::add_watch(&*self.inotify, path, WatchFlags::MODIFY)?;
        let growth = watched
            .entry(descriptor)
            .or_insert_with(|| signal::Sender::new(0))
            .subscribe();
        Ok(Watch {
            watcher: self.clone(),
            descriptor,
            growth,
        })
    }

    fn listen(&self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&*self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => self.wake(event.wd(), event.events()),
                Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "inotify failed; outputs are now read only when their runs end");
                    return;
                }
            }
        }
    }

    fn wake(&self, descriptor: i32, events: ReadFlags) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            watched
                .values()
                .for_each(|growth| growth.send_modify(|times| *times += 1));
        } else if let Some(growth) = watched.get(&descriptor) {
            growth.send_modify(|times| *times += 1);
        }
    }
}

impl Watch {
    /// Waits until the file has grown since the last call.
    pub async fn grown(&mut self) {
        if self.growth.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self
            .watcher
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_last = watched
            .get(&self.descriptor)
            .is_some_and(|growth| growth.receiver_count() == 1);
        if is_last {
            watched.remove(&self.descriptor);
            // An error means that the file is gone, and its watch too.
            let _ = inotify::remove_watch(&*self.watcher.inotify, self.descriptor);
        }
    }
}
