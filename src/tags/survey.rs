//! Finds changed Markdown files in watched trees.
//!
//! # How it works
//! A notification of the system is only a hint; the current state is found by walking the trees. Editors save by renaming, files move,
//! folders arrive with their content: a walk finds the final state, whatever the order of notifications. Files that have not
//! changed since the last read are not read again. If all notifications are about known files that still exist, only these files are
//! checked, without a walk. Each folder is watched separately, so folders listed in `.gitignore` cost nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use ignore::{DirEntry, WalkBuilder, WalkState};
use notify::event::EventKind;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::beneath::{Folder, is_not_there};
use super::find::is_markdown;
use super::reading::{FileTags, read_tags};

/// A file modified within this time before it was read may change again without a different timestamp.
const GRAIN: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    #[error("Folder {} cannot be watched: {cause}", path.display())]
    Root {
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("Cannot watch files: {0}; raise fs.inotify.max_user_instances")]
    Notice(#[from] notify::Error),
}

pub struct Survey {
    roots: Vec<PathBuf>,
    /// A folder that is ignored.
    left_out: PathBuf,
    seen: HashMap<PathBuf, Seen>,
    /// The watched folders, with their identities, because another folder may take the same name.
    folders: HashMap<PathBuf, Identity>,
    watcher: RecommendedWatcher,
}

/// The state of a file when it was last read.
struct Seen {
    stamp: Option<Stamp>,
    has_tags: bool,
}

/// Device and inode, which identify a folder independently of its name.
type Identity = (u64, u64);

/// Device, inode, size and times, which change with the file.
type Stamp = (u64, u64, u64, i64, i64, i64, i64);

/// The result of a look.
#[derive(Debug, Default)]
pub struct Look {
    /// The changed files with their tags. A deleted file has none.
    pub files: BTreeMap<PathBuf, FileTags>,
    /// Messages about files and folders that could not be read or watched.
    pub problems: Vec<String>,
}

impl Survey {
    /// Begins to watch trees, except for the folder `left_out`. `notice` is called when a file may have changed.
    pub fn start(
        roots: &[PathBuf],
        left_out: &Path,
        notice: impl Fn(Notice) + Send + 'static,
    ) -> Result<Self, SurveyError> {
        let roots = roots
            .iter()
            .map(|path| root(path, left_out))
            .collect::<Result<Vec<_>, _>>()?;
        let of_interest = roots.clone();
        let watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| match event {
                Ok(event) => Notice::of(event, &of_interest)
                    .into_iter()
                    .for_each(&notice),
                Err(_) => notice(Notice::Anywhere),
            })?;
        Ok(Self {
            roots,
            left_out: left_out.to_owned(),
            seen: HashMap::new(),
            folders: HashMap::new(),
            watcher,
        })
    }

    pub fn root_of(&self, file: &Path) -> Option<&Path> {
        self.roots
            .iter()
            .map(PathBuf::as_path)
            .find(|root| file.starts_with(root))
    }

    /// Whether all files are known and still exist, so that no walk is needed.
    pub fn knows(&self, files: &HashSet<PathBuf>) -> bool {
        files
            .iter()
            .all(|path| self.seen.contains_key(path) && !self.is_gone(path))
    }

    /// Walks the trees and reads the changed files, and in any case the files in `again`.
    pub fn look(&mut self, again: &HashSet<PathBuf>) -> Look {
        let mut look = Look::default();
        loop {
            let found = self.walk(&mut look);
            let mut files = HashSet::new();
            for (path, stamp) in found.files {
                self.look_at(&path, stamp, again, &mut look);
                files.insert(path);
            }
            self.look_for_gone(&files, again, &mut look);
            // Files created in a new folder before it was watched are found only by another walk.
            if !self.watch(found.folders, &mut look) {
                return look;
            }
        }
    }

    /// Reads only these files, without a walk.
    pub fn look_again(&mut self, files: &HashSet<PathBuf>) -> Look {
        let mut look = Look::default();
        for path in files {
            if self.is_gone(path) {
                self.forget(path, files, &mut look);
            } else {
                self.look_at(path, stamp(path), files, &mut look);
            }
        }
        look
    }

    fn walk(&self, look: &mut Look) -> Found {
        let Some((first, others)) = self.roots.split_first() else {
            return Found::default();
        };
        let mut walk = WalkBuilder::new(first);
        for root in others {
            walk.add(root);
        }
        let left_out = self.left_out.clone();
        walk.require_git(false)
            .filter_entry(move |entry| entry.path() != left_out);
        let (results, entries) = mpsc::channel();
        walk.build_parallel().run(|| {
            let results = results.clone();
            Box::new(move |entry| {
                let entry = match entry {
                    Ok(entry) => examine(&entry),
                    Err(error) => Some(Entry::Problem(error.to_string())),
                };
                match entry.map(|entry| results.send(entry)) {
                    Some(Err(_)) => WalkState::Quit,
                    _ => WalkState::Continue,
                }
            })
        });
        drop(results);
        let mut found = Found::default();
        for entry in entries {
            match entry {
                Entry::Folder(path, identity) => _ = found.folders.insert(path, identity),
                Entry::File(path, stamp) => found.files.push((path, stamp)),
                Entry::Problem(problem) => look.problems.push(problem),
            }
        }
        found.files.sort_unstable();
        found
    }

    fn look_at(
        &mut self,
        path: &Path,
        stamp: Option<Stamp>,
        again: &HashSet<PathBuf>,
        look: &mut Look,
    ) {
        let seen = self.seen.get(path);
        let is_same = seen.is_some_and(|seen| seen.stamp.is_some() && seen.stamp == stamp);
        if is_same && !again.contains(path) {
            return;
        }
        let had_any = seen.is_some_and(|seen| seen.has_tags);
        let root = self.root_of(path).unwrap_or(path).to_owned();
        match read_tags(path, &root) {
            Ok(tags) => {
                let has_tags = !tags.is_empty();
                let seen = Seen { stamp, has_tags };
                self.seen.insert(path.to_owned(), seen);
                if has_tags || had_any || again.contains(path) {
                    look.files.insert(path.to_owned(), tags);
                }
            }
            // The file was deleted since the walk.
            Err(error) if is_not_there(&error) => {}
            Err(error) => look.problems.push(format!("{}: {error}", path.display())),
        }
    }

    /// Reports deleted files. Files that are only unreadable or ignored now are not reported.
    fn look_for_gone(
        &mut self,
        there: &HashSet<PathBuf>,
        again: &HashSet<PathBuf>,
        look: &mut Look,
    ) {
        let missing: HashSet<PathBuf> = self
            .seen
            .keys()
            .chain(again)
            .filter(|path| !there.contains(*path))
            .cloned()
            .collect();
        for path in missing {
            if self.is_gone(&path) {
                self.forget(&path, again, look);
            } else {
                self.seen.remove(&path);
            }
        }
    }

    /// Whether a file was deleted. A file behind a symbolic link counts as deleted. If the whole tree is missing, nothing is known.
    fn is_gone(&self, path: &Path) -> bool {
        let Some((root, name)) = self.root_of(path).zip(path.file_name()) else {
            return false;
        };
        let found =
            Folder::of(path, root).and_then(|folder| std::fs::symlink_metadata(folder.path(name)));
        match found {
            Ok(file) => !file.is_file(),
            Err(error) => root.is_dir() && is_not_there(&error),
        }
    }

    /// Reports a file as deleted, if it had tags.
    fn forget(&mut self, path: &Path, again: &HashSet<PathBuf>, look: &mut Look) {
        let had_tags = self.seen.remove(path).is_some_and(|seen| seen.has_tags);
        let root = self.root_of(path).unwrap_or(path).to_owned();
        if had_tags || again.contains(path) {
            let none = FileTags::none(path.to_owned(), root);
            look.files.insert(path.to_owned(), none);
        }
    }

    /// Watches new folders. Returns whether there were any.
    fn watch(&mut self, mut there: HashMap<PathBuf, Identity>, look: &mut Look) -> bool {
        // The parent shows when a deleted tree is created again.
        for parent in self.roots.iter().filter_map(|root| root.parent()) {
            let found = identity(parent).map(|identity| (parent.to_owned(), identity));
            there.extend(found);
        }
        let is_there = |folder: &PathBuf, was: &Identity| there.get(folder) == Some(was);
        let gone = self
            .folders
            .extract_if(|folder, was| !is_there(folder, was));
        for (folder, _) in gone {
            // An error means that the folder is gone, and its watch too.
            let _ = self.watcher.unwatch(&folder);
        }
        let mut has_new = false;
        for (folder, identity) in there {
            if self.folders.contains_key(&folder) {
                continue;
            }
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    has_new = true;
                    self.folders.insert(folder, identity);
                }
                Err(_) if !folder.is_dir() => {}
                Err(error) => {
                    look.problems.push(format!(
                        "{} is not watched: {error}; raise fs.inotify.max_user_watches",
                        folder.display()
                    ));
                }
            }
        }
        has_new
    }
}

#[derive(Default)]
struct Found {
    folders: HashMap<PathBuf, Identity>,
    files: Vec<(PathBuf, Option<Stamp>)>,
}

enum Entry {
    Folder(PathBuf, Identity),
    File(PathBuf, Option<Stamp>),
    Problem(String),
}

fn root(path: &Path, left_out: &Path) -> Result<PathBuf, SurveyError> {
    let problem = |cause| SurveyError::Root {
        path: path.to_owned(),
        cause,
    };
    let found = path.canonicalize().map_err(problem)?;
    if !found.is_dir() {
        return Err(problem(ErrorKind::NotADirectory.into()));
    }
    if found.to_str().is_none() {
        return Err(problem(std::io::Error::other("the path is not UTF-8")));
    }
    if found.starts_with(left_out) {
        let why = "it is inside the server's data directory, where agents work";
        return Err(problem(std::io::Error::other(why)));
    }
    Ok(found)
}

fn examine(entry: &DirEntry) -> Option<Entry> {
    let kind = entry.file_type()?;
    let path = entry.path();
    if kind.is_dir() {
        return identity(path).map(|identity| Entry::Folder(path.to_owned(), identity));
    }
    if !kind.is_file() || !is_markdown(path) {
        return None;
    }
    if path.to_str().is_none() {
        return Some(Entry::Problem(format!(
            "{} is skipped: its name is not UTF-8",
            path.display()
        )));
    }
    Some(Entry::File(path.to_owned(), stamp(path)))
}

fn identity(folder: &Path) -> Option<Identity> {
    let folder = std::fs::symlink_metadata(folder).ok()?;
    Some((folder.dev(), folder.ino()))
}

/// Returns the stamp of a file, or `None` if the file changed too recently for its times to be reliable.
fn stamp(path: &Path) -> Option<Stamp> {
    let file = std::fs::symlink_metadata(path).ok()?;
    let age = SystemTime::now().duration_since(file.modified().ok()?);
    let is_old = age.is_ok_and(|age| age > GRAIN);
    is_old.then(|| {
        (
            file.dev(),
            file.ino(),
            file.size(),
            file.mtime(),
            file.mtime_nsec(),
            file.ctime(),
            file.ctime_nsec(),
        )
    })
}

/// A hint that something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    File(PathBuf),
    /// A folder or an ignore file changed, or notifications were lost.
    Anywhere,
}

impl Notice {
    /// Translates a notification of the system. Most are irrelevant.
    fn of(event: notify::Event, roots: &[PathBuf]) -> Vec<Self> {
        if matches!(event.kind, EventKind::Access(_)) {
            return Vec::new();
        }
        if event.need_rescan() {
            return vec![Self::Anywhere];
        }
        let paths = event.paths.into_iter();
        paths.filter_map(|path| Self::at(path, roots)).collect()
    }

    fn at(path: PathBuf, roots: &[PathBuf]) -> Option<Self> {
        let name = path.file_name()?;
        let is_list = name == ".gitignore" || name == ".ignore";
        // Outside of the trees, only the creation and deletion of a tree itself counts.
        if !roots.iter().any(|root| path.starts_with(root)) {
            None
        } else if is_markdown(&path) {
            Some(Self::File(path))
        } else {
            let may_matter = is_list || path.extension().is_none() || path.is_dir();
            may_matter.then_some(Self::Anywhere)
        }
    }
}
