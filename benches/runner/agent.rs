//! An agent that prints when it started and when it ended.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The argument that turns this program into an agent.
pub const MODE: &str = "agent";

/// The start and the end of an agent, by the clock of [`now`].
#[derive(Clone, Copy)]
pub struct Stamps {
    pub first: Duration,
    pub last: Duration,
}

/// Reads the monotonic clock, which all processes of the machine share.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(
        time.tv_sec.cast_unsigned(),
        u32::try_from(time.tv_nsec).expect("it is below 10^9"),
    )
}

/// Sleeps, and prints the start and the end.
pub fn work(first: Duration, milliseconds: &str) {
    let milliseconds = milliseconds.parse().expect("it is a number");
    if milliseconds > 0 {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    println!("{} {}", first.as_nanos(), now().as_nanos());
}

impl Stamps {
    /// Parses an agent's output.
    pub fn read(said: &str) -> Self {
        let time = |text: &str| Duration::from_nanos(text.parse().expect("it is a number"));
        let (first, last) = said
            .trim()
            .split_once(' ')
            .expect("an agent prints two numbers");
        Self {
            first: time(first),
            last: time(last),
        }
    }
}

/// Returns the agent's program, which is this one.
pub fn program() -> PathBuf {
    std::env::current_exe().expect("Linux knows it")
}

/// Starts the agent without Chorus, and waits for it.
pub fn spawn_and_wait(milliseconds: u64) -> Stamps {
    let output = Command::new(program())
        .args([MODE, &milliseconds.to_string()])
        .stdin(Stdio::null())
        .output()
        .expect("it can be started");
    Stamps::read(&String::from_utf8_lossy(&output.stdout))
}
