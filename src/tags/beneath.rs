//! Reaches files below a folder without following symbolic links on the way: they may lead out of it.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

/// A folder below a root, held open: whatever takes its name meanwhile is another one.
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder that has a file, step by step from the root.
    pub fn of(file: &Path, root: &Path) -> std::io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = open(root, flags | OFlags::RDONLY, Mode::empty())?;
        let below = file.strip_prefix(root).map_err(std::io::Error::other)?;
        for step in below.parent().unwrap_or(Path::new("")).components() {
            let Component::Normal(name) = step else {
                return Err(Errno::NOENT.into());
            };
            let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW;
            folder = openat(&folder, name, flags, Mode::empty())?;
        }
        Ok(Self(folder))
    }

    /// Returns a path that leads to a file in this folder for as long as it is held.
    pub fn path(&self, name: &OsStr) -> PathBuf {
        Path::new("/proc/self/fd")
            .join(self.0.as_raw_fd().to_string())
            .join(name)
    }
}

/// Tells whether an error says that there is no such file, or only by a symbolic link.
pub(super) fn is_not_there(error: &std::io::Error) -> bool {
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
