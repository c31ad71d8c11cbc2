//! Hides the data directory from masked agents, with bubblewrap.
//!
//! # How it works
//! A masked agent runs in namespaces of its own. It sees the whole file system, but an empty, read-only directory in place of the data
//! directory. In it, only the folder of its own workspace, the spec of its own run and the files of its task are mounted. The network is shared, so the agent
//! reaches the server at its URL.
//!
//! Only paths that no masked agent can change are mounted, because bubblewrap follows symbolic links: a workspace below another folder
//! of `workspaces/` is entered from inside the mask, where a link leads nowhere. The directories above the data directory are mounted on
//! themselves, because a mount point cannot be renamed. A masked agent therefore cannot move the data directory out from under the masks
//! of later runs. The same holds for this program, which the server starts as the supervisor of every run.
//!
//! The mask has no capabilities, so the agent cannot unmount it, and a process namespace, so the agent does not find processes outside,
//! whose `/proc/PID/root` is unmasked. Sockets of well-known programs that would start a process outside on request are hidden.
//!
//! The mask is not a jail. The agent can write to the home directory, and files there may be executed outside later.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::providers::find_program;
use crate::config::DataDir;
use crate::supervisor::{RunFiles, program_missing};

/// The namespaces of a mask, with the whole file system in them.
const NAMESPACES: [&str; 14] = [
    // Also for root, whose capabilities would otherwise be those of the machine.
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    // Without a controlling terminal, the agent cannot type into it.
    "--new-session",
    // Devices of the machine do not work in a bind mount; the agent gets the harmless ones.
    "--bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
];

/// Programs that start processes outside the mask for everybody who can connect to their socket.
const DOORS: [&str; 6] = [
    "/run/dbus",
    "/run/systemd/private",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/snapd.socket",
];

#[derive(Debug, thiserror::Error)]
pub enum MaskProblem {
    #[error("{0}")]
    NoProgram(String),
    #[error(
        "The agent is masked, and bubblewrap is not installed. Install the package `bubblewrap`, or set the agent's isolation to none"
    )]
    NotInstalled,
    #[error(
        "The agent is masked, and agents can replace {}. Install bubblewrap in a directory of root, such as /usr/bin, or set the agent's isolation to none",
        .0.display()
    )]
    Replaceable(PathBuf),
    #[error(
        "The agent is masked, and bubblewrap cannot make namespaces here ({0}). Allow unprivileged user namespaces, or set the agent's isolation to none"
    )]
    NoNamespaces(String),
    #[error("The agent is masked, and bubblewrap cannot be started: {0}")]
    NotChecked(std::io::Error),
    #[error(
        "The data directory {} was moved or replaced. Restart the server with the right --data-dir",
        .0.display()
    )]
    DataDirMoved(PathBuf),
    #[error(
        "Workspace {} leads into the workspace of another task. Create a task with another agentWorkspace",
        .0.display()
    )]
    OtherWorkspace(PathBuf),
    #[error(
        "Program {} is in the data directory, which is hidden from the agent. Move the program, or set the agent's isolation to none",
        .0.display()
    )]
    HiddenProgram(PathBuf),
}

/// Makes masks for the runs of one data directory.
#[derive(Debug)]
pub(super) struct Masks {
    data_dir: DataDir,
    /// The device and inode of the data directory when the server started.
    identity: Option<(u64, u64)>,
    has_worked: AtomicBool,
}

/// A run that is masked.
pub(super) struct MaskedRun<'a> {
    pub files: &'a RunFiles,
    /// The files of the run directory that the program reads, besides `system.md`.
    pub read: Vec<&'a Path>,
    /// The program of the server.
    pub chorus: &'a Path,
    /// The program of the agent.
    pub program: &'a str,
    /// The workspace as the task names it.
    pub named: &'a Path,
    /// The workspace without symbolic links.
    pub workspace: &'a Path,
    /// The files of the task.
    pub attachments: &'a [PathBuf],
}

impl Masks {
    pub fn new(data_dir: DataDir) -> Self {
        let identity = identity(data_dir.path());
        Self {
            data_dir,
            identity,
            has_worked: AtomicBool::new(false),
        }
    }

    /// Returns the command that runs the rest of its command line inside a mask.
    pub fn wrapper(&self, run: &MaskedRun<'_>) -> Result<Vec<String>, MaskProblem> {
        let bwrap = find_bwrap()?;
        if !self.has_worked.load(Ordering::Relaxed) {
            probe(&bwrap)?;
            self.has_worked.store(true, Ordering::Relaxed);
        }
        let data = self.data_dir.path();
        if self.identity.is_none() || identity(data) != self.identity {
            return Err(MaskProblem::DataDirMoved(data.to_owned()));
        }
        let own_folder = self.own_folder(run)?;
        let program = find_program(run.program).and_then(|path| path.canonicalize().ok());
        let is_sought = !run.program.contains('/') || Path::new(run.program).is_absolute();
        if program.is_none() && is_sought {
            return Err(MaskProblem::NoProgram(program_missing(run.program)));
        }
        if let Some(program) = program
            && program.starts_with(data)
            && program != run.chorus
            && !own_folder
                .as_ref()
                .is_some_and(|folder| program.starts_with(folder))
        {
            return Err(MaskProblem::HiddenProgram(program));
        }
        let mut mask = Arguments(vec![bwrap.into()]);
        mask.namespaces();
        mask.close_doors();
        let above = [data, run.chorus].into_iter().flat_map(immovable);
        for folder in above.collect::<BTreeSet<_>>() {
            if !folder.starts_with(data) {
                mask.add("--bind", [&folder, &folder]);
            }
        }
        mask.add("--tmpfs", [data]);
        if let Some(folder) = &own_folder {
            mask.add("--bind", [folder, folder]);
        }
        let system = run.files.system();
        mask.add("--ro-bind", [&system, &system]);
        for file in &run.read {
            mask.add("--ro-bind", [file, file]);
        }
        mask.add("--ro-bind", [run.chorus, run.chorus]);
        for file in run.attachments.iter().filter(|file| is_plain_file(file)) {
            mask.add("--ro-bind", [file, file]);
        }
        mask.add("--remount-ro", [data]);
        mask.add("--chdir", [run.workspace]);
        mask.0.push("--".into());
        let words = mask.0.into_iter();
        // A path that is not UTF-8 cannot be stored as a workspace either.
        Ok(words
            .map(|word| word.to_string_lossy().into_owned())
            .collect())
    }

    /// Returns the folder in `workspaces/` that contains the run's workspace, if the workspace is there.
    ///
    /// The task must name the folder itself: a link elsewhere may lead into the workspace of any task.
    fn own_folder(&self, run: &MaskedRun<'_>) -> Result<Option<PathBuf>, MaskProblem> {
        let workspaces = self.data_dir.workspaces();
        let folder = |path: &Path| {
            let inside = path.strip_prefix(&workspaces).ok()?;
            Some(workspaces.join(inside.components().next()?))
        };
        let (named, found) = (folder(run.named), folder(run.workspace));
        let is_plain = |folder: &PathBuf| {
            folder
                .symlink_metadata()
                .is_ok_and(|folder| folder.is_dir())
        };
        if found == named && found.as_ref().is_none_or(is_plain) {
            Ok(found)
        } else {
            Err(MaskProblem::OtherWorkspace(run.named.to_owned()))
        }
    }
}

/// Checks that masks work on this machine.
pub fn check_masks() -> Result<PathBuf, MaskProblem> {
    let bwrap = find_bwrap()?;
    probe(&bwrap)?;
    Ok(bwrap)
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, option: &str, paths: [impl AsRef<Path>; N]) {
        self.0.push(option.into());
        self.0
            .extend(paths.map(|path| path.as_ref().as_os_str().to_owned()));
    }

    fn namespaces(&mut self) {
        self.0.extend(NAMESPACES.map(OsString::from));
        // Root owns the settings of the machine, with or without capabilities.
        for settings in ["/sys", "/proc/sys", "/proc/sysrq-trigger"] {
            if Path::new(settings).exists() {
                self.add("--ro-bind", [settings, settings]);
            }
        }
    }

    fn close_doors(&mut self) {
        let user = geteuid().as_raw();
        let own = [format!("/run/user/{user}"), format!("/tmp/tmux-{user}")];
        for door in DOORS.into_iter().chain(own.iter().map(String::as_str)) {
            match Path::new(door).symlink_metadata() {
                Ok(found) if found.is_dir() => self.add("--tmpfs", [door]),
                Ok(found) if !found.is_symlink() => self.add("--ro-bind", ["/dev/null", door]),
                _ => {}
            }
        }
    }
}

/// Whether a path is a file, and not a link, which bubblewrap would follow.
fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Lists the directories above a path that its mask must hold in place, because this user could rename them.
fn immovable(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    above
        .filter(|folder| folder.parent().is_some_and(may_change))
        .map(Path::to_owned)
        .collect()
}

/// Whether this user can create and rename files in a directory, or give itself the right to.
fn may_change(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK).is_ok()
        || folder
            .metadata()
            .is_ok_and(|found| found.uid() == geteuid().as_raw())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Finds bubblewrap. The one of an ordinary user would be a way out for agents, which run as the same user.
fn find_bwrap() -> Result<PathBuf, MaskProblem> {
    let found = find_program("bwrap").and_then(|path| path.canonicalize().ok());
    let bwrap = found.ok_or(MaskProblem::NotInstalled)?;
    if !geteuid().is_root() && bwrap.ancestors().any(may_change) {
        return Err(MaskProblem::Replaceable(bwrap));
    }
    Ok(bwrap)
}

/// Runs a program that does nothing in the namespaces of a mask.
fn probe(bwrap: &Path) -> Result<(), MaskProblem> {
    let mut mask = Arguments(Vec::new());
    mask.namespaces();
    let output = Command::new(bwrap)
        .args(mask.0)
        .args(["--", "/bin/sh", "-c", ":"])
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(MaskProblem::NoNamespaces(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )),
        Err(error) => Err(MaskProblem::NotChecked(error)),
    }
}
