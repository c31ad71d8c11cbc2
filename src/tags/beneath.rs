//! Opens files below a root without following symbolic links, which may lead out of it.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

/// A folder below a root, held open so that a replacement under the same name is not used.
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder of a file, component by component from the root.
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

    /// Returns the path of a file in this folder, valid while the folder is open.
    pub fn path(&self, name: &OsStr) -> PathBuf {
        Path::new("/proc/self/fd")
            .join(self.0.as_raw_fd().to_string())
            .join(name)
    }
}

/// Whether an error means that the file does not exist, or is behind a symbolic link.
pub(super) fn is_not_there(error: &std::io::Error) -> bool {
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
