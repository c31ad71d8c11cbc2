//! The real program, as users start it.

use std::io::{BufRead, BufReader, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use chorus::client::Client;

/// A `chorus` command in an environment of its own.
pub struct Chorus(Command);

impl Chorus {
    /// Begins a command. What the machine's own environment says to Chorus, or of a collector, does not count.
    pub fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chorus"));
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            if shown.starts_with("CHORUS_") || shown.starts_with("OTEL_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .env("TZ", "UTC")
            .env("USER", "tester")
            .stdin(Stdio::null());
        Self(command)
    }

    /// Sets a variable of the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    /// Sets the working directory.
    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Sets what it reads from standard input.
    pub fn input(mut self, text: &str) -> Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        self.0.stdin(file);
        self
    }

    /// Sets where its standard output goes.
    pub fn stdout(mut self, stdout: Stdio) -> Self {
        self.0.stdout(stdout);
        self
    }

    /// Sets where its standard error goes.
    pub fn stderr(mut self, stderr: Stdio) -> Self {
        self.0.stderr(stderr);
        self
    }

    /// Lets a user run it who owns nothing, from a copy in a folder that everybody can read: the build may be in one that is root's
    /// alone. Only root can ask for that.
    pub fn by_nobody(self, folder: &Path) -> Self {
        let program = folder.join("chorus");
        std::fs::copy(self.0.get_program(), &program).unwrap();
        let mut command = Command::new(program);
        command.args(self.0.get_args()).uid(65534).gid(65534);
        Self(command)
    }

    /// Starts it.
    pub fn spawn(mut self) -> Child {
        self.0.spawn().unwrap()
    }

    /// Runs it to its end.
    pub fn output(mut self) -> Output {
        self.0.output().unwrap()
    }

    /// Runs it to its end and writes down all that a user sees: code, standard output, standard error.
    pub fn transcript(self) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = self.output();
        let code = status.code().expect("it was not killed");
        let (stdout, stderr) = (
            String::from_utf8(stdout).unwrap(),
            String::from_utf8(stderr).unwrap(),
        );
        format!("exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

/// A server in a process of its own, killed when it is dropped.
pub struct Server {
    process: Child,
    pub url: String,
    pub data_dir: PathBuf,
}

impl Server {
    /// Starts a server that runs no agents on a free port, and waits until it listens.
    pub fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    /// Starts a server with more arguments.
    pub fn start_with(data_dir: &Path, arguments: &[&str]) -> Self {
        let arguments = ["--port", "0", "--max-runs", "0"].iter().chain(arguments);
        Self::spawn(
            data_dir,
            Chorus::new(["serve"].into_iter().chain(arguments.copied())),
        )
    }

    /// Starts `chorus serve` as it is given on a data directory, and waits until it listens.
    pub fn spawn(data_dir: &Path, command: Chorus) -> Self {
        let mut command = command.env("CHORUS_DATA_DIR", data_dir);
        let mut process = command
            .0
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .rsplit_once(' ')
            .expect("the first line ends with the address")
            .1
            .trim()
            .to_owned();
        assert!(url.starts_with("http://"), "{line}");
        Self {
            process,
            url,
            data_dir: data_dir.to_owned(),
        }
    }

    /// Returns its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Makes a client of it.
    pub fn client(&self) -> Client {
        Client::new(&self.url, None).unwrap()
    }

    /// Begins a command that talks to it.
    pub fn chorus<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
        Chorus::new(arguments)
            .env("CHORUS_URL", &self.url)
            .env("CHORUS_DATA_DIR", &self.data_dir)
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops it with SIGTERM and returns how it ended.
    pub fn stop(mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.process.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
