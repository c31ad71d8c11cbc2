//! Learns from the system that a file has grown.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::sync::Notify;

/// Watches files for as long as their [`Watch`] lives.
#[derive(Debug, Clone)]
pub(super) struct Watcher {
    inotify: Arc<OwnedFd>,
    watched: Arc<Mutex<HashMap<i32, Arc<Notify>>>>,
}

/// A file that is watched.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Watcher,
    descriptor: i32,
    grown: Arc<Notify>,
}

impl Watcher {
    /// Begins to listen, on a thread of its own that ends with the process.
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

    /// Watches a file.
    pub fn watch(&self, path: &Path) -> std::io::Result<Watch> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let descriptor = inotify::add_watch(&*self.inotify, path, WatchFlags::MODIFY)?;
        let grown = Arc::new(Notify::new());
        watched.insert(descriptor, grown.clone());
        Ok(Watch {
            watcher: self.clone(),
            descriptor,
            grown,
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
                    tracing::error!(%error, "no longer learns when files grow; outputs are read at their end");
                    return;
                }
            }
        }
    }

    fn wake(&self, descriptor: i32, events: ReadFlags) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            watched.values().for_each(|grown| grown.notify_one());
        } else if let Some(grown) = watched.get(&descriptor) {
            grown.notify_one();
        }
    }
}

impl Watch {
    /// Completes when the file has grown since the last time.
    pub async fn grown(&self) {
        self.grown.notified().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self
            .watcher
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        watched.remove(&self.descriptor);
        // An error means that the file is gone, and the watch with it.
        let _ = inotify::remove_watch(&*self.watcher.inotify, self.descriptor);
    }
}
