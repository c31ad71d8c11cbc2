//! Opens files of a run directory, which an agent may have replaced by links or pipes.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fd::AsFd;
use rustix::fs::{CWD, Mode, OFlags, fcntl_setfl, open, openat};
use rustix::path::Arg;
use rustix::process::geteuid;

/// Opens a plain file of our own. Follows no link, and never waits for the other end of a pipe.
pub fn open_plain(path: &Path, flags: OFlags) -> std::io::Result<File> {
    open_plain_at(CWD, path, flags)
}

/// Like [`open_plain`], but follows no link in place of the file's directory either.
pub fn open_plain_inside(path: &Path, flags: OFlags) -> std::io::Result<File> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let only_directory = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH | OFlags::CLOEXEC;
    let directory = open(directory, only_directory, Mode::empty())?;
    open_plain_at(directory, name, flags)
}

fn open_plain_at(directory: impl AsFd, path: impl Arg, flags: OFlags) -> std::io::Result<File> {
    let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, path, flags | safe, Mode::RUSR | Mode::WUSR)?;
    let file = File::from(file);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != geteuid().as_raw() {
        return Err(std::io::Error::other("not a plain file of this user"));
    }
    // An agent inherits its outputs, and must not inherit this flag with them.
    fcntl_setfl(&file, flags & OFlags::APPEND)?;
    Ok(file)
}
