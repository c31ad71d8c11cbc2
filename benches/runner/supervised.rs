//! The agent with a supervisor, but without a server.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use chorus::supervisor::{RunFiles, RunSpec, StopSignal};
use rustix::fs::{CWD, Mode, mkfifoat};

use super::agent::{self, Stamps};
use super::support::server::this_program;

/// Starts a supervisor in a new run directory, and waits until it releases the lock.
pub fn supervise_and_wait(dir: &Path, milliseconds: u64) -> (Stamps, Child) {
    let files = RunFiles::new(dir);
    let spec = RunSpec {
        wrapper: Vec::new(),
        program: agent::program().display().to_string(),
        arguments: vec![agent::MODE.to_owned(), milliseconds.to_string()],
        environment: BTreeMap::new(),
        cgroup: None,
        working_directory: dir.to_owned(),
        stop_signal: StopSignal::Terminate,
        grace_seconds: 1,
        max_seconds: Some(60),
        idle_seconds: Some(60),
    };
    std::fs::create_dir_all(dir).expect("the data directory can be written");
    let spec = serde_json::to_vec(&spec).expect("it is a plain record");
    std::fs::write(files.spec_file(), spec).expect("the disk has room");
    for file in [files.prompt(), files.stdout(), files.stderr()] {
        File::create(file).expect("the disk has room");
    }
    mkfifoat(CWD, files.control(), Mode::RUSR | Mode::WUSR).expect("the directory is new");
    let lock = File::create(files.lock()).expect("the disk has room");
    lock.lock().expect("nobody else has it");
    let supervisor = Command::new(this_program())
        .arg("supervise")
        .arg(dir)
        .stdin(Stdio::from(lock))
        .spawn()
        .expect("chorus can be started");
    File::open(files.lock())
        .and_then(|lock| lock.lock_shared())
        .expect("the supervisor holds it until the run is over");
    let said = std::fs::read_to_string(files.stdout()).expect("the agent has ended");
    (Stamps::read(&said), supervisor)
}
