//! Enforces the end of a run, whatever its agent did to its supervisor.
//!
//! # How it works
//! The supervisor ends its agent on an order, and at a limit. But an agent can stop its supervisor, read the orders from the
//! control pipe, or remove the pipe. So a guard watches each run from the server. It repeats an order, and if the run has not ended
//! after the grace period and a margin, it kills all processes of the run. It does the same a margin after a limit, and if the
//! supervisor is dead while another process holds the lock of the run. It continues a stopped supervisor. The limits are those of
//! the ledger: a file of the run may have been changed by the agent.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::leftovers::{self, Ended};
use super::processes::{self, Wanted};
use super::reading::Reading;
use super::shortage::{RETRY, Stopping, on_thread};
use super::{Runner, TO_SEARCH, run_dir};
use crate::domain::RunId;
use crate::error::with_sources;
use crate::ledger::run::{self, ClaimedRun, Limits};
use crate::store::StoreError;
use crate::supervisor::{Cause, Order, ProcessStat, may_pass};

/// The time that a supervisor has beyond its limits and its grace period.
const MARGIN: Duration = Duration::from_secs(5);

/// The pause before an order is repeated.
const REPEAT: Duration = Duration::from_secs(1);

/// The time that a stop takes beyond the grace period: the margin, the search for processes that SIGKILL has not ended, and some more.
pub(super) const LONGEST_END: Duration = Duration::from_secs(30);

/// The interval at which the supervisor is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// A time that no agent waits.
const LONGEST_WAIT: Duration = Duration::from_hours(24 * 365);

/// The number of looks without a supervisor before the run counts as unsupervised.
const LOOKS: u32 = 3;

/// The connection between a run's guard, its follower and those who stop the run.
#[derive(Debug)]
pub(super) struct Guard {
    stop: signal::Sender<bool>,
    forced: signal::Sender<Option<Forced>>,
    waiting: signal::Sender<bool>,
    pub reading: Reading,
}

/// The end of a run by force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forced {
    /// `None` if the supervisor had died by itself.
    pub cause: Option<Cause>,
    /// The number of processes that survived; `None` while they are being killed.
    pub left: Option<usize>,
}

impl Guard {
    pub fn new() -> Self {
        Self {
            stop: signal::Sender::new(false),
            forced: signal::Sender::new(None),
            waiting: signal::Sender::new(false),
            reading: Reading::new(),
        }
    }

    /// Stops the clocks of the run while it waits, and continues them afterwards.
    pub fn set_waiting(&self, is_waiting: bool) {
        self.waiting.send_if_modified(|known| {
            let is_new = *known != is_waiting;
            *known = is_waiting;
            is_new
        });
    }

    /// Asks for the end of the run.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until the run was ended by force.
    pub async fn until_forced(&self) {
        let mut forced = self.forced.subscribe();
        let has_ended =
            |forced: &Option<Forced>| forced.is_some_and(|forced| forced.left.is_some());
        // The sender lives as long as `self`.
        let _ = forced.wait_for(has_ended).await;
    }

    pub fn forced(&self) -> Option<Forced> {
        *self.forced.borrow()
    }
}

/// The next action of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Order,
    Force(Cause),
    Look,
}

/// The times at which a guard acts.
#[derive(Debug)]
struct Schedule {
    limits: Limits,
    grace: Duration,
    began: Instant,
    heard: Instant,
    /// When the run was first ordered to stop, and when the order is repeated.
    ordered: Option<(Instant, Instant)>,
    look: Instant,
    /// Since when the agent waits for another one.
    waiting: Option<Instant>,
}

impl Schedule {
    /// Follows the begin or the end of a wait.
    fn follow_wait(&mut self, is_waiting: bool, now: Instant) {
        match (self.waiting, is_waiting) {
            (None, true) => self.waiting = Some(now),
            (Some(since), false) => {
                self.waiting = None;
                self.began += now.saturating_duration_since(since);
                self.heard = now;
            }
            _ => {}
        }
    }

    /// Returns the next action and its time.
    fn next(&self) -> (Instant, Step) {
        let allowance = self.grace + MARGIN;
        let after = |start: Instant, seconds: u64| {
            start
                .checked_add(Duration::from_secs(seconds))
                .map(|limit| limit + allowance)
        };
        let mut steps = vec![(self.look, Step::Look)];
        if let Some((since, again)) = self.ordered {
            steps.push((again, Step::Order));
            steps.push((since + allowance, Step::Force(Cause::Stopped)));
        } else if self.waiting.is_none() {
            let limits = [
                (after(self.began, self.limits.max_seconds), Cause::TimedOut),
                (after(self.heard, self.limits.idle_seconds), Cause::Idle),
            ];
            steps.extend(
                limits
                    .into_iter()
                    .filter_map(|(at, cause)| Some((at?, Step::Force(cause)))),
            );
        }
        steps
            .into_iter()
            .min_by_key(|(at, _)| *at)
            .expect("there is always a next look")
    }
}

impl Runner {
    /// Guards a run until it is gone.
    pub(super) async fn guard(
        self,
        run: ClaimedRun,
        supervisor: Option<u32>,
        mut gone: signal::Receiver<bool>,
    ) {
        let run_id = run.identity.run_id.clone();
        let Some(guard) = self.live().get(&run_id).map(|live| live.guard.clone()) else {
            return;
        };
        let mut asked = guard.stop.subscribe();
        let mut supervisor = Supervisor::new(supervisor);
        let now = Instant::now();
        let mut schedule = Schedule {
            limits: self.limits(&run),
            grace: Duration::from_secs(self.0.options.grace_seconds),
            began: now,
            heard: now,
            ordered: None,
            look: now + LOOK,
            waiting: None,
        };
        let mut waits = guard.waiting.subscribe();
        schedule.follow_wait(*waits.borrow_and_update(), now);
        let mut output = run_dir::output_size(&self.files(&run_id));
        let cause = loop {
            let (at, step) = schedule.next();
            tokio::select! {
                _ = gone.wait_for(|is_gone| *is_gone) => return,
                _ = asked.wait_for(|asked| *asked), if schedule.ordered.is_none() => {
                    let now = Instant::now();
                    schedule.ordered = Some((now, now));
                    continue;
                }
                // The sender lives as long as `guard`.
                Ok(()) = waits.changed() => {
                    let is_waiting = *waits.borrow_and_update();
                    schedule.follow_wait(is_waiting, Instant::now());
                    continue;
                }
                () = tokio::time::sleep_until(at) => {}
            }
            match step {
                Step::Order => {
                    self.order(&run_id, Order::Stop);
                    let since = schedule.ordered.map_or(at, |(since, _)| since);
                    schedule.ordered = Some((since, Instant::now() + REPEAT));
                }
                Step::Look => {
                    let size = run_dir::output_size(&self.files(&run_id));
                    if size != output {
                        output = size;
                        schedule.heard = Instant::now();
                    }
                    if supervisor.is_unknown() {
                        supervisor = self.find_supervisor(&run, supervisor).await;
                        if let Some(age) = supervisor.age {
                            let began = age_to_start(age) + self.waited(&run_id).await;
                            schedule.began = schedule.began.min(began);
                        }
                    }
                    if supervisor.is_dead() {
                        break None;
                    }
                    supervisor.wake_if_stopped();
                    schedule.look = Instant::now() + LOOK;
                }
                Step::Force(cause) => break Some(cause),
            }
        };
        // Before the first signal, because the dying supervisor releases its lock.
        guard
            .forced
            .send_replace(Some(Forced { cause, left: None }));
        // If the server stops, the next server ends them.
        let Ok(ended) = self.end_processes(&run, supervisor.pid).await else {
            return;
        };
        if ended.signals > 0 {
            tracing::warn!(%run_id, ?cause, ended.signals, "ended a run by force");
        }
        if ended.left > 0 {
            self.record_left(&run_id, ended.left).await;
        }
        let left = Some(ended.left);
        guard.forced.send_replace(Some(Forced { cause, left }));
    }

    /// Returns how long the agent of an adopted run has waited for others. If that is not known yet, the time limit begins anew here: the
    /// supervisor knows better.
    async fn waited(&self, run_id: &RunId) -> Duration {
        let run_id = run_id.clone();
        let waited = self.0.db.read(move |view| run::waited(view, &run_id));
        match waited.await {
            Ok(Some(millis)) => Duration::from_millis(millis.unsigned_abs()),
            Ok(None) | Err(_) => LONGEST_WAIT,
        }
    }

    /// Looks for the supervisor of an adopted run.
    async fn find_supervisor(&self, run: &ClaimedRun, before: Supervisor) -> Supervisor {
        let wanted = self.wanted(run, None);
        let found = on_thread(move || {
            let found = processes::of_run(&wanted).into_iter();
            found
                .filter(|process| process.supervises.is_some())
                .find_map(|process| Supervisor::open(&process))
        });
        found.await.ok().flatten().unwrap_or(Supervisor {
            missed: before.missed + 1,
            ..before
        })
    }

    /// Ends all processes of a run without its supervisor. Never touches the processes of another installation.
    pub(super) async fn end_processes(
        &self,
        run: &ClaimedRun,
        supervisor: Option<i32>,
    ) -> Result<Ended, Stopping> {
        let run_id = &run.identity.run_id;
        let mut wanted = self.wanted(run, supervisor);
        let running = self.0.db.read(run::running_ids).await;
        // If the ledger cannot be read, no run is known to have ended.
        wanted.running = running.ok().map(BTreeSet::from_iter);
        loop {
            let wanted = wanted.clone();
            let end = move || {
                // Without descriptors, no process is found.
                TO_SEARCH.probe_process()?;
                let ended = leftovers::end(&wanted);
                TO_SEARCH.probe_process()?;
                std::io::Result::Ok(ended)
            };
            match on_thread(end).await.and_then(|ended| ended) {
                Ok(ended) => {
                    if ended.left > 0 {
                        tracing::error!(%run_id, ended.left, "processes of a run survive SIGKILL; end them by hand");
                    }
                    return Ok(ended);
                }
                Err(error) if may_pass(&error) => self.rest(RETRY).await?,
                Err(error) => {
                    tracing::error!(%error, %run_id, "cannot end the processes of a run; end them by hand");
                    return Ok(Ended::default());
                }
            }
        }
    }

    fn wanted(&self, run: &ClaimedRun, supervisor: Option<i32>) -> Wanted {
        let run_id = &run.identity.run_id;
        let is_ours = self.0.installation.has_claimed(run);
        Wanted {
            mark: self.0.installation.mark(run_id),
            handoff_id: is_ours.then(|| run.identity.handoff_id.clone()),
            directory: self.0.options.data_dir.run(run_id),
            session: supervisor,
            running: None,
        }
    }

    async fn record_left(&self, run_id: &RunId, left: usize) {
        let id = run_id.clone();
        let recorded = self.0.db.write(move |tx| run::record_left(tx, &id, left));
        match recorded.await {
            Ok(()) | Err(StoreError::Closed) => {}
            Err(error) => {
                tracing::error!(error = %with_sources(&error), %run_id, "cannot record that processes are left");
            }
        }
    }
}

pub(super) fn age_to_start(age: Duration) -> Instant {
    let now = Instant::now();
    now.checked_sub(age).unwrap_or(now)
}

/// The supervisor of a run, as seen by the guard.
#[derive(Debug)]
struct Supervisor {
    pid: Option<i32>,
    process: Option<OwnedFd>,
    /// `None` if the supervisor was started by this server.
    age: Option<Duration>,
    missed: u32,
}

impl Supervisor {
    /// Opens the process that this server has just started, if it is known.
    fn new(pid: Option<u32>) -> Self {
        let pid = pid.map(u32::cast_signed);
        let process = pid
            .and_then(Pid::from_raw)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self {
            pid,
            process,
            age: None,
            missed: 0,
        }
    }

    fn open(process: &processes::Process) -> Option<Self> {
        let descriptor = pidfd_open(process.pid, PidfdFlags::empty()).ok()?;
        let is_same =
            processes::read(process.pid).is_some_and(|now| now.started == process.started);
        is_same.then(|| Self {
            pid: Some(process.pid.as_raw_nonzero().get()),
            process: Some(descriptor),
            age: process.age(),
            missed: 0,
        })
    }

    /// Continues a supervisor that its agent has stopped. Otherwise the end of the agent would go unnoticed until a limit is reached.
    fn wake_if_stopped(&self) {
        if let (Some(pid), Some(process)) = (self.pid, &self.process)
            && let Ok(Some(stat)) = ProcessStat::read(pid)
            && stat.is_stopped
        {
            // An error means that the supervisor has just ended.
            let _ = pidfd_send_signal(process, Signal::CONT);
        }
    }

    const fn is_unknown(&self) -> bool {
        self.process.is_none() && self.missed < LOOKS
    }

    /// Whether the process has ended, or no process was found at any look.
    fn is_dead(&self) -> bool {
        match &self.process {
            Some(process) => {
                let mut ready = [PollFd::new(process, PollFlags::IN)];
                let at_once = Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                poll(&mut ready, Some(&at_once)).is_ok() && !ready[0].revents().is_empty()
            }
            None => self.missed >= LOOKS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_acts_a_margin_after_the_supervisor_should_have() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        let mut schedule = Schedule {
            limits: Limits {
                max_seconds: 100,
                idle_seconds: 10,
            },
            grace: Duration::from_secs(2),
            began: now,
            heard: now,
            ordered: None,
            look: later(1000),
            waiting: None,
        };
        assert_eq!(schedule.next(), (later(17), Step::Force(Cause::Idle)));
        schedule.heard = later(99);
        assert_eq!(schedule.next(), (later(107), Step::Force(Cause::TimedOut)));
        schedule.follow_wait(true, later(100));
        assert_eq!(schedule.next(), (later(1000), Step::Look));
        schedule.follow_wait(false, later(500));
        assert_eq!(schedule.next(), (later(507), Step::Force(Cause::TimedOut)));
        schedule.ordered = Some((later(3), later(4)));
        assert_eq!(schedule.next(), (later(4), Step::Order));
        schedule.ordered = Some((later(3), later(11)));
        assert_eq!(schedule.next(), (later(10), Step::Force(Cause::Stopped)));
        schedule.look = later(1);
        schedule.limits.max_seconds = u64::MAX;
        schedule.ordered = None;
        assert_eq!(schedule.next(), (later(1), Step::Look));
    }
}
