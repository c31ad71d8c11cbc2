//! Starts the real program.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

use super::settings::program;

/// Returns the program to measure: `CHORUS_BENCH_PROGRAM`, or the one that Cargo has built for the benchmark.
pub fn this_program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        program("CHORUS_BENCH_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_chorus").into())
    });
    &PROGRAM
}

/// A data directory with an empty database, on the disk of the build, because temporary folders are often in memory, where a
/// sync costs nothing.
///
/// The database is served by the program that migrated it, because another build may have another schema.
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
                .expect("the target folder is writable"),
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

/// A server process, killed on drop.
pub struct Server {
    command: Command,
    process: Child,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(data_dir: &DataDir, arguments: &[&str]) -> Self {
        let mut command = chorus(&["serve", "--port", "0"], data_dir);
        command
            .args(arguments)
            .env("CHORUS_LOG", "error")
            .stdout(Stdio::piped());
        let (process, address) = listen(&mut command);
        Self {
            command,
            process,
            address,
        }
    }

    /// Restarts the server on the same data, at another address.
    pub fn restart(&mut self) {
        self.kill();
        (self.process, self.address) = listen(&mut self.command);
    }

    fn kill(&mut self) {
        // An error means that the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a server, and reads the address from the first line of its output.
fn listen(command: &mut Command) -> (Child, SocketAddr) {
    let mut process = command.spawn().expect("chorus can be started");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("chorus prints its address");
    let address = line
        .trim()
        .rsplit_once("http://")
        .and_then(|(_, address)| address.parse().ok())
        .expect("the first line ends with the address");
    (process, address)
}

/// Prepares a command without the `CHORUS_` variables of the environment.
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
