//! The real program, as users start it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Returns the program that this package builds.
pub fn this_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_chorus"))
}

/// A data directory with an empty database, on the disk that the build is on: temporary folders are often in memory,
/// where a flush costs nothing.
///
/// The program that migrated the database is also the one that serves it, because another build may have another schema.
pub struct DataDir {
    folder: TempDir,
    program: PathBuf,
}

impl DataDir {
    pub fn create() -> Self {
        Self::create_with(this_program())
    }

    pub fn create_with(program: &Path) -> Self {
        let data_dir = Self {
            folder: TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))
                .expect("a folder can be made there"),
            program: program.to_owned(),
        };
        let migrated = chorus(&["migrate"], &data_dir)
            .stdout(Stdio::null())
            .status()
            .expect("chorus can be started");
        assert!(migrated.success(), "chorus migrate failed");
        data_dir
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> PathBuf {
        self.path().join("chorus.db")
    }
}

/// A server in a process of its own, killed when it is dropped.
pub struct Server {
    process: Child,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(data_dir: &DataDir, arguments: &[&str]) -> Self {
        let mut process = chorus(&["serve", "--port", "0"], data_dir)
            .args(arguments)
            .env("CHORUS_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("chorus can be started");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("it is piped"))
            .read_line(&mut line)
            .expect("chorus says where it listens");
        let address = line
            .trim()
            .rsplit_once("http://")
            .and_then(|(_, address)| address.parse().ok())
            .expect("the first line ends with the address");
        Self { process, address }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Begins a command. What the environment says to Chorus does not count.
fn chorus(arguments: &[&str], data_dir: &DataDir) -> Command {
    let mut command = Command::new(&data_dir.program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CHORUS_") {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .arg("--data-dir")
        .arg(data_dir.path());
    command
}
