//! Tags in files under attack: concurrent processes, kills, odd bytes, and every way to change a file.

use std::fs::{File, Permissions};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use chorus::domain::tag::Tag;
use chorus::tags::{AtLock, EditError, edit};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tempfile::TempDir;

use crate::support::{Chorus, Random, env_number};

/// A folder with one file.
struct Note {
    folder: TempDir,
    path: PathBuf,
}

impl Note {
    fn new(bytes: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.md");
        std::fs::write(&path, bytes).unwrap();
        Self { folder, path }
    }

    fn read(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    fn swap_command(&self, old: &str, new: &str) -> Chorus {
        chorus(["tag", "swap"], &self.path)
            .argument(old)
            .argument(new)
    }

    /// Lists the files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = self.folder.path().read_dir().unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn chorus<'a>(arguments: impl IntoIterator<Item = &'a str>, path: &Path) -> Chorus {
    Chorus::new(arguments).argument(path)
}

/// Starts all commands, then waits for all.
fn run_concurrently(commands: impl IntoIterator<Item = Chorus>) -> Vec<Output> {
    let running: Vec<_> = commands
        .into_iter()
        .map(|command| {
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        })
        .collect();
    running
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect()
}

#[test]
fn one_of_many_processes_that_swap_the_same_tag_succeeds() {
    for _ in 0..env_number("CHORUS_TAG_ROUNDS", 2) {
        let note = Note::new("# Note\r\n**Tags**: #needs-fix #P1\r\n");
        let claims: Vec<_> = (0..60).map(|nth| format!("#claimed-by-{nth}")).collect();
        let outputs = run_concurrently(
            claims
                .iter()
                .map(|claim| note.swap_command("#needs-fix", claim)),
        );
        let winners: Vec<_> = outputs
            .iter()
            .zip(&claims)
            .filter(|(output, _)| output.status.success())
            .collect();
        assert_eq!(winners.len(), 1);
        let winner = winners[0].1;
        let text = format!("# Note\r\n**Tags**: {winner} #P1\r\n");
        assert_eq!(String::from_utf8(note.read()).unwrap(), text);
        for output in outputs.iter().filter(|output| !output.status.success()) {
            assert_eq!(output.status.code(), Some(1));
            let stderr = String::from_utf8_lossy(&output.stderr);
            let expected = format!(
                "#needs-fix is not in the file; the file now has {winner} (line 2), #P1 (line 2)"
            );
            assert!(stderr.contains(&expected), "{stderr}");
        }
        assert_eq!(note.names(), ["note.md"]);
    }
}

#[test]
fn no_swap_of_concurrent_processes_is_lost() {
    let lines = |word: &str| {
        let line = |nth| format!("- item {nth} #{word}-x{nth} and more\n");
        (0..60).map(line).collect::<String>()
    };
    let note = Note::new(lines("needs"));
    let swaps =
        (0..60).map(|nth| note.swap_command(&format!("needs-x{nth}"), &format!("done-x{nth}")));
    for output in run_concurrently(swaps) {
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(String::from_utf8(note.read()).unwrap(), lines("done"));
}

#[test]
fn a_lock_waiter_of_a_replaced_file_reads_the_new_file() {
    let note = Note::new("old");
    let inode = format!(":{} ", note.path.metadata().unwrap().ino());
    std::thread::scope(|scope| {
        let mut other = None;
        let first = edit::<EditError>(&note.path, AtLock::Wait, |bytes| {
            assert_eq!(bytes, b"old");
            let waiting = scope.spawn(|| {
                edit::<EditError>(&note.path, AtLock::Wait, |bytes| {
                    assert_eq!(bytes, b"new");
                    Ok(Some(b"newer".to_vec()))
                })
            });
            // The kernel lists the waiters of a lock, but has no event for a new one.
            while !waiting.is_finished() && !has_lock_waiter(&inode) {
                std::thread::yield_now();
            }
            other = Some(waiting);
            Ok(Some(b"new".to_vec()))
        });
        assert!(first.unwrap());
        assert!(other.unwrap().join().unwrap().unwrap());
    });
    assert_eq!(note.read(), b"newer");
}

fn has_lock_waiter(inode: &str) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let mut lines = locks.lines();
    lines.any(|line| line.contains("-> FLOCK") && line.contains(inode))
}

#[test]
fn a_concurrent_write_without_a_lock_is_not_lost() {
    let in_place = |note: &Note| std::fs::write(&note.path, "two").unwrap();
    let by_rename = |note: &Note| {
        let other = note.folder.path().join("other");
        std::fs::write(&other, "two").unwrap();
        std::fs::rename(other, &note.path).unwrap();
    };
    for write in [&in_place as &dyn Fn(&Note), &by_rename] {
        let note = Note::new("one");
        let mut seen = Vec::new();
        let is_changed = edit::<EditError>(&note.path, AtLock::Wait, |bytes| {
            if seen.is_empty() {
                write(&note);
            }
            seen.push(bytes.to_vec());
            Ok(Some([bytes, b"!"].concat()))
        });
        assert!(is_changed.unwrap());
        assert_eq!(seen, [b"one", b"two"]);
        assert_eq!(note.read(), b"two!");
        assert_eq!(note.names(), ["note.md"]);
    }
    let note = Note::new("one");
    let mut times = 0;
    let busy = edit::<EditError>(&note.path, AtLock::Wait, |_| {
        times += 1;
        std::fs::write(&note.path, times.to_string()).unwrap();
        Ok(Some(b"lost".to_vec()))
    });
    assert!(matches!(busy, Err(EditError::Busy { .. })));
    assert_eq!(note.read(), times.to_string().as_bytes());
}

#[test]
fn a_swap_changes_no_other_byte() {
    for (before, after) in [
        (&b"# T\r\n**Tags**: #needs-fix\r\nx\r\n"[..], &b"# T\r\n**Tags**: #done-fix\r\nx\r\n"[..]),
        (b"# T\n**Tags**: #needs-fix", b"# T\n**Tags**: #done-fix"),
        (b"# T\r**Tags**: #needs-fix\r", b"# T\r**Tags**: #done-fix\r"),
        (b"\xef\xbb\xbf# T\n**Tags**:\t#needs-fix  \n", b"\xef\xbb\xbf# T\n**Tags**:\t#done-fix  \n"),
        (b"\xff\xe9 #needs-fix \xf6\x80\0\n\r\n", b"\xff\xe9 #done-fix \xf6\x80\0\n\r\n"),
        (
            b"`#needs-fix`\n```\n#needs-fix\n```\n<!-- #needs-fix -->\n    #needs-fix\nx (#needs-fix)\n",
            b"`#needs-fix`\n```\n#needs-fix\n```\n<!-- #needs-fix -->\n    #needs-fix\nx (#done-fix)\n",
        ),
    ] {
        let note = Note::new(before);
        let output = note.swap_command("#needs-fix", "#done-fix").output();
        assert!(output.status.success(), "{before:?} {output:?}");
        assert_eq!(note.read(), after, "{}", String::from_utf8_lossy(before));
    }
}

#[test]
fn a_mention_is_not_swapped() {
    for text in [
        "`#needs-fix`\n",
        "~~~\n#needs-fix\n",
        "\\#needs-fix\n",
        "<!--\n#needs-fix\n-->\n",
    ] {
        let note = Note::new(text);
        let inode = note.path.metadata().unwrap().ino();
        let output = note.swap_command("#needs-fix", "#done-fix").output();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("not a tag"));
        assert_eq!(note.read(), text.as_bytes());
        assert_eq!(note.path.metadata().unwrap().ino(), inode);
    }
}

#[test]
fn an_edit_through_a_symbolic_link_keeps_the_link() {
    let note = Note::new("#needs-fix\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.md");
    symlink(&note.path, &link).unwrap();
    let output = chorus(["tag", "swap"], &link)
        .argument("#needs-fix")
        .argument("#done-fix")
        .output();
    assert!(output.status.success(), "{output:?}");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(note.read(), b"#done-fix\n");
    // The library does not follow a link: only the command line resolves it.
    let (old, new) = (Tag::parse("done-fix").unwrap(), Tag::parse("x").unwrap());
    let error = chorus::tags::swap(&link, &old, &new, None).unwrap_err();
    assert!(
        error.to_string().contains("is not a regular file"),
        "{error}"
    );
    assert_eq!(note.read(), b"#done-fix\n");
}

#[test]
fn a_swap_keeps_the_mode_and_owner_of_the_file() {
    let note = Note::new("#needs-fix\n");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&note.path, Some(12345), Some(54321)).unwrap();
    }
    std::fs::set_permissions(&note.path, Permissions::from_mode(0o664)).unwrap();
    let before = note.path.metadata().unwrap();
    assert!(
        note.swap_command("#needs-fix", "#done-fix")
            .output()
            .status
            .success()
    );
    let after = note.path.metadata().unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!(
        (before.mode(), before.uid(), before.gid()),
        (after.mode(), after.uid(), after.gid())
    );
}

#[test]
fn in_a_read_only_folder_the_file_stays_and_the_reason_is_printed() {
    let note = Note::new("#needs-fix\n");
    std::fs::set_permissions(&note.path, Permissions::from_mode(0o666)).unwrap();
    std::fs::set_permissions(note.folder.path(), Permissions::from_mode(0o555)).unwrap();
    let command = note.swap_command("#needs-fix", "#done-fix");
    // Root may write anywhere, so another user runs the command.
    let output = if rustix::process::geteuid().is_root() {
        let copy = tempfile::tempdir().unwrap();
        std::fs::set_permissions(copy.path(), Permissions::from_mode(0o755)).unwrap();
        command.without_privileges(copy.path()).output()
    } else {
        command.output()
    };
    std::fs::set_permissions(note.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("make its folder writable"), "{stderr}");
    assert_eq!(note.read(), b"#needs-fix\n");
    assert_eq!(note.names(), ["note.md"]);
}

/// The inotify events of a folder.
struct FolderEvents {
    inotify: OwnedFd,
    buffer: [MaybeUninit<u8>; 4096],
}

impl FolderEvents {
    fn watch(folder: &Path, kinds: WatchFlags) -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&inotify, folder, kinds).unwrap();
        Self {
            inotify,
            buffer: [MaybeUninit::uninit(); 4096],
        }
    }

    /// Waits for a number of events.
    fn wait_for(mut self, count: usize) {
        let mut reader = inotify::Reader::new(&self.inotify, &mut self.buffer);
        for _ in 0..count {
            reader.next().unwrap();
        }
    }
}

#[test]
fn a_killed_swap_leaves_the_old_file_or_the_new_one() {
    let mut random = Random::new();
    let filler = "Text that takes its time to be written.\n".repeat(20_000);
    let old = format!("# T\n**Tags**: #needs-fix\n{filler}");
    let new = old.replace("#needs-fix", "#done-fix");
    let note = Note::new(&old);
    for _ in 0..env_number("CHORUS_CRASH_ROUNDS", 20) {
        // Every step of a swap is an event: it opens, reads, creates, writes, changes and renames files.
        let folder_events = FolderEvents::watch(note.folder.path(), WatchFlags::ALL_EVENTS);
        let mut process = note
            .swap_command("#needs-fix", "#done-fix")
            .stdout(Stdio::null())
            .spawn();
        folder_events.wait_for(1 + random.below(10));
        process.kill().unwrap();
        process.wait().unwrap();
        let now = note.read();
        let is_new = now == new.as_bytes();
        assert!(is_new || now == old.as_bytes());
        // A leftover temporary file is not found.
        let found = chorus(["tag", "find", "*"], note.folder.path()).output();
        assert_eq!(String::from_utf8(found.stdout).unwrap().lines().count(), 1);
        if is_new {
            assert!(
                note.swap_command("#done-fix", "#needs-fix")
                    .output()
                    .status
                    .success()
            );
        }
    }
}

/// Starts `await-tag` for `#done-fix`, and returns when the process has read the file without it.
fn start_waiting(note: &Note) -> Child {
    let folder_events = FolderEvents::watch(note.folder.path(), WatchFlags::CLOSE_NOWRITE);
    let process = chorus(["await-tag", "--timeout", "60"], &note.path)
        .argument("#done-fix")
        .spawn();
    folder_events.wait_for(1);
    process
}

fn assert_success(mut process: Child) {
    assert!(process.wait().unwrap().success());
}

#[test]
fn a_waiter_wakes_when_the_file_is_written_in_place() {
    let note = Note::new("#needs-fix `#done-fix`\n");
    let waiting = start_waiting(&note);
    let mut file = File::options().append(true).open(&note.path).unwrap();
    file.write_all(b"#done-fix\n").unwrap();
    assert_success(waiting);
}

#[test]
fn a_waiter_wakes_when_the_file_is_replaced() {
    let note = Note::new("#needs-fix\n");
    let waiting = start_waiting(&note);
    let other = note.folder.path().join("other");
    std::fs::write(&other, "#done-fix\n").unwrap();
    std::fs::rename(other, &note.path).unwrap();
    assert_success(waiting);
    let waiting = {
        note.swap_command("#done-fix", "#needs-fix").output();
        start_waiting(&note)
    };
    assert!(
        note.swap_command("#needs-fix", "#done-fix")
            .output()
            .status
            .success()
    );
    assert_success(waiting);
}

#[test]
fn a_waiter_wakes_when_the_file_is_deleted_and_restored() {
    let note = Note::new("#needs-fix\n");
    let waiting = start_waiting(&note);
    std::fs::remove_file(&note.path).unwrap();
    std::fs::write(&note.path, "#done-fix\n").unwrap();
    assert_success(waiting);
}

#[test]
fn a_waiter_wakes_when_the_folder_is_deleted_and_restored() {
    let note = Note::new("");
    let folder = note.folder.path().join("a");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("note.md"), "#needs-fix\n").unwrap();
    let inner = Note {
        path: folder.join("note.md"),
        folder: TempDir::new().unwrap(),
    };
    let folder_events = FolderEvents::watch(&folder, WatchFlags::CLOSE_NOWRITE);
    let waiting = chorus(["await-tag", "--timeout", "60"], &inner.path)
        .argument("#done-fix")
        .spawn();
    folder_events.wait_for(1);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&inner.path, "#done-fix\n").unwrap();
    assert_success(waiting);
}

#[test]
fn a_waiter_wakes_when_the_target_of_its_symbolic_link_changes() {
    let note = Note::new("#needs-fix\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.md");
    symlink(&note.path, &link).unwrap();
    let folder_events = FolderEvents::watch(note.folder.path(), WatchFlags::CLOSE_NOWRITE);
    let waiting = chorus(["await-tag", "--timeout", "60"], &link)
        .argument("#done-fix")
        .spawn();
    folder_events.wait_for(1);
    assert!(
        note.swap_command("#needs-fix", "#done-fix")
            .output()
            .status
            .success()
    );
    assert_success(waiting);
}

#[test]
fn a_waiter_wakes_when_the_file_is_created() {
    let note = Note::new("");
    for name in ["new.md", "new/folder/new.md"] {
        let path = note.folder.path().join(name);
        let waiting = chorus(["await-tag", "--timeout", "60"], &path)
            .argument("#done-fix")
            .spawn();
        // The kernel lists the watches of a process, but has no event for a new one.
        while !has_watch(waiting.id()) {
            std::thread::yield_now();
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#done-fix\n").unwrap();
        assert_success(waiting);
    }
}

fn has_watch(process: u32) -> bool {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fdinfo")) else {
        return false;
    };
    descriptors
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok())
        .any(|text| text.contains("inotify wd:"))
}

#[test]
fn a_search_skips_ignored_hidden_and_outside_files() {
    let note = Note::new("#needs-fix\n");
    let root = note.folder.path();
    let elsewhere = Note::new("#needs-fix\n");
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".gitignore", "build/\n*.draft.md\n");
    write("build/x.md", "#needs-fix\n");
    write("a/x.draft.md", "#needs-fix\n");
    write("a/.gitignore", "!kept.draft.md\n");
    write("a/kept.draft.md", "#needs-fix\n");
    write(".git/x.md", "#needs-fix\n");
    write(".chorus-left.tmp", "#needs-fix\n");
    write("a/code.md", "```\n#needs-fix\n```\n");
    symlink(elsewhere.folder.path(), root.join("outside")).unwrap();
    symlink(&elsewhere.path, root.join("outside.md")).unwrap();
    symlink(root, root.join("a/loop")).unwrap();
    let find = Chorus::new(["tag", "find", "#needs-fix"]).current_dir(root);
    assert_eq!(
        find.transcript(),
        "exit 0\n--- stdout\na/kept.draft.md:1\t#needs-fix\nnote.md:1\t#needs-fix\n--- stderr\n"
    );
    let through_link = chorus(["tag", "find", "#needs-fix"], &root.join("outside"));
    assert!(through_link.output().status.success());
}

#[test]
fn a_search_finds_everything_in_a_large_tree() {
    let root = tempfile::tempdir().unwrap();
    let mut wanted = Vec::new();
    for nth in 0..2000 {
        let folder = root.path().join(format!("{:02}", nth % 37));
        std::fs::create_dir_all(&folder).unwrap();
        let tag = if nth % 3 == 0 {
            "#needs-fix"
        } else {
            "#needs-fixing"
        };
        let text = format!("{}{tag}\n", "x\n".repeat(nth * 7 % 60_000));
        std::fs::write(folder.join(format!("{nth:04}.md")), text).unwrap();
        if nth % 3 == 0 {
            wanted.push(format!(
                "{:02}/{nth:04}.md:{}\t#needs-fix",
                nth % 37,
                nth * 7 % 60_000 + 1
            ));
        }
    }
    wanted.sort();
    let find = Chorus::new(["tag", "find", "#needs-fix"]).current_dir(root.path());
    let found = String::from_utf8(find.output().stdout).unwrap();
    assert_eq!(found.lines().collect::<Vec<_>>(), wanted);
}
