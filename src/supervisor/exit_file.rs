//! The file `exit.json`, whose room on the disk is taken before the agent starts.

use std::fs::File;
use std::io::{Result, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use super::files::create_anew;
use super::{RunExit, RunFiles};

/// The size of the file. JSON may end with blanks, which fill the rest.
const ROOM: usize = 4096;

/// The room for the end of a run, under another name until the end is complete.
#[derive(Debug)]
pub(super) struct ExitFile {
    file: File,
    unfinished: PathBuf,
    finished: PathBuf,
}

impl ExitFile {
    /// Takes the room. Bytes are written, because a file with holes has no room yet.
    pub fn reserve(files: &RunFiles) -> Result<Self> {
        let finished = files.exit();
        let unfinished = finished.with_extension("unfinished");
        let mut file = create_anew(&unfinished)?;
        file.write_all(&[b' '; ROOM])?;
        Ok(Self {
            file,
            unfinished,
            finished,
        })
    }

    /// Whether the agent has left the file in its place.
    fn has_its_name(&self) -> bool {
        let id = |file: std::fs::Metadata| (file.dev(), file.ino());
        let named = self.unfinished.symlink_metadata().map(id);
        named.is_ok_and(|named| self.file.metadata().map(id).is_ok_and(|own| own == named))
    }

    /// Writes the end into the room, then gives the file its name: other processes see the whole end or none.
    pub fn write(&self, exit: &RunExit) -> Result<()> {
        let mut bytes = serde_json::to_vec(exit)?;
        if bytes.len() < ROOM {
            bytes.resize(ROOM - 1, b' ');
            bytes.push(b'\n');
        }
        self.file.write_all_at(&bytes, 0)?;
        if !self.has_its_name() {
            create_anew(&self.unfinished)?.write_all(&bytes)?;
        }
        std::fs::rename(&self.unfinished, &self.finished)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cause, End};
    use super::*;

    fn exited(code: i32) -> RunExit {
        RunExit {
            end: End::Exited { code },
            cause: Cause::ByItself,
        }
    }

    #[test]
    fn an_end_is_invisible_until_it_is_written_and_takes_no_more_room() {
        let folder = tempfile::tempdir().unwrap();
        let files = RunFiles::new(folder.path());
        let room = ExitFile::reserve(&files).unwrap();
        assert_eq!(files.read_exit().unwrap(), None);
        let blocks = std::fs::metadata(files.exit().with_extension("unfinished"));
        room.write(&exited(7)).unwrap();
        assert_eq!(files.read_exit().unwrap(), Some(exited(7)));
        let written = std::fs::metadata(files.exit()).unwrap();
        assert_eq!(written.ino(), blocks.unwrap().ino());
        assert_eq!(written.len(), ROOM as u64);
    }

    #[test]
    fn a_long_error_is_written_in_full() {
        let folder = tempfile::tempdir().unwrap();
        let files = RunFiles::new(folder.path());
        let exit = RunExit {
            end: End::NotStarted {
                error: "x".repeat(3 * ROOM),
                may_pass: false,
            },
            cause: Cause::ByItself,
        };
        ExitFile::reserve(&files).unwrap().write(&exit).unwrap();
        assert_eq!(files.read_exit().unwrap(), Some(exit));
    }
}
