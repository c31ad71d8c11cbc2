//! The program as a process.

use std::io::{BufRead, BufReader, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use chorus::client::Client;
use chorus::secret::Token;

/// A `chorus` command in an environment of its own.
pub struct Chorus(Command);

impl Chorus {
    /// Creates a command without the `CHORUS_` and `OTEL_` variables of the test's own environment.
    pub fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chorus"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CHORUS_") || text.starts_with("OTEL_") {
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

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub fn argument(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Sets the content of standard input.
    pub fn input(mut self, text: &str) -> Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        self.0.stdin(file);
        self
    }

    pub fn stdout(mut self, stdout: Stdio) -> Self {
        self.0.stdout(stdout);
        self
    }

    pub fn stderr(mut self, stderr: Stdio) -> Self {
        self.0.stderr(stderr);
        self
    }

    /// Runs as the user nobody, from a copy of the program in a folder that everybody can read: the build folder may be readable
    /// by root alone. Works only for root.
    pub fn without_privileges(self, folder: &Path) -> Self {
        let program = folder.join("chorus");
        if !program.exists() {
            // Copied by another process: a child of another test would inherit a descriptor for writing, and a file that is open for
            // writing cannot be executed.
            let copied = Command::new("cp")
                .arg(self.0.get_program())
                .arg(&program)
                .status();
            assert!(copied.unwrap().success());
        }
        let mut command = Command::new(program);
        command.args(self.0.get_args()).uid(65534).gid(65534);
        Self(command)
    }

    /// Runs with a limit of open files.
    pub fn with_open_files(self, limit: u32) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")])
            .arg(self.0.get_program())
            .args(self.0.get_args());
        for (name, value) in self.0.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self(command)
    }

    pub fn spawn(mut self) -> Child {
        self.0.spawn().unwrap()
    }

    pub fn output(mut self) -> Output {
        self.0.output().unwrap()
    }

    /// Runs the command and returns what a user sees: exit code, standard output and standard error.
    pub fn transcript(self) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = self.output();
        let code = status.code().expect("the command was killed");
        let (stdout, stderr) = (
            String::from_utf8(stdout).unwrap(),
            String::from_utf8(stderr).unwrap(),
        );
        format!("exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

/// A server process, killed on drop.
pub struct Server {
    process: Child,
    pub url: String,
    pub data_dir: PathBuf,
}

impl Server {
    /// Starts a server without runs on a free port, and waits until it listens.
    pub fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    /// Like [`Server::start`], with more arguments.
    pub fn start_with(data_dir: &Path, arguments: &[&str]) -> Self {
        let arguments = ["--port", "0", "--max-runs", "0"].iter().chain(arguments);
        Self::spawn(
            data_dir,
            Chorus::new(["serve"].into_iter().chain(arguments.copied())),
        )
    }

    /// Starts a given `chorus serve` on a data directory, and waits until it listens.
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
            .expect("the first line does not end with the address")
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

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn client(&self) -> Client {
        Client::new(&self.url, None).unwrap()
    }

    /// Creates a client with the operator's token.
    pub fn operator(&self) -> Client {
        let token = std::fs::read_to_string(self.data_dir.join("operator.token")).unwrap();
        let token = Token::given(token.trim().to_owned());
        Client::new(&self.url, Some(token)).unwrap()
    }

    /// Creates a command that talks to this server.
    pub fn chorus<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
        Chorus::new(arguments)
            .env("CHORUS_URL", &self.url)
            .env("CHORUS_DATA_DIR", &self.data_dir)
    }

    /// Sends SIGKILL.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends SIGTERM and returns the exit status.
    pub fn stop(mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.process.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
