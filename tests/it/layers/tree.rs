//! The module tree of the crate. Resolves a path to the file that defines the item it names.

use std::collections::{BTreeMap, BTreeSet};
use std::{fs, slice};

use super::parse::{How, Module, Path, Reference, read_modules};
use super::tokens::{self, Token};

pub struct File {
    /// The path below `src`, with slashes.
    pub name: String,
    pub tokens: Vec<Token>,
}

pub struct Tree {
    pub files: Vec<File>,
    pub modules: Vec<Module>,
    by_path: BTreeMap<Path, usize>,
}

/// The end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target<'a> {
    Module(usize),
    /// An item of this file, and its name.
    Item(usize, &'a str),
    /// A name that its module does not define.
    Unknown,
    /// Another crate, a local variable, a generic parameter.
    Elsewhere,
}

/// One file that uses items of another.
#[derive(Debug, PartialEq, Eq)]
pub struct Import<'a> {
    pub from: usize,
    pub to: usize,
    /// The first line that uses one.
    pub line: usize,
    pub items: BTreeSet<&'a str>,
}

impl Tree {
    /// Reads the files below a `src` folder.
    pub fn read(src: &std::path::Path) -> Self {
        let sources = super::files(src, ".rs").into_iter().map(|path| {
            let parts: Vec<_> = path.strip_prefix(src).unwrap().iter().collect();
            let parts: Vec<_> = parts.iter().map(|part| part.to_str().unwrap()).collect();
            (parts.join("/"), fs::read_to_string(&path).unwrap())
        });
        Self::new(sources)
    }

    /// Builds a tree of file names below `src` and their sources.
    pub fn new(sources: impl IntoIterator<Item = (String, String)>) -> Self {
        let files: Vec<_> = sources
            .into_iter()
            .map(|(name, source)| File {
                name,
                tokens: tokens::split(&source),
            })
            .collect();
        let modules: Vec<_> = files
            .iter()
            .enumerate()
            .flat_map(|(index, file)| read_modules(&file.tokens, module_path(&file.name), index))
            .collect();
        let by_path = modules.iter().enumerate();
        let by_path = by_path
            .map(|(index, module)| (module.path.clone(), index))
            .collect();
        let mut tree = Self {
            files,
            modules,
            by_path,
        };
        tree.mark_test_modules();
        tree
    }

    /// A module inside a test module is a test module.
    fn mark_test_modules(&mut self) {
        let mut declared: Vec<Path> = Vec::new();
        for module in &self.modules {
            let children = module.test_children.iter();
            declared
                .extend(children.map(|name| [&module.path[..], slice::from_ref(name)].concat()));
            declared.extend(module.is_test.then(|| module.path.clone()));
        }
        for module in &mut self.modules {
            module.is_test = declared.iter().any(|path| module.path.starts_with(path));
        }
    }

    /// Lists the imports between files below a folder, each pair once.
    pub fn imports_within(&self, folder: &str) -> Vec<Import<'_>> {
        let is_inside = |file: usize| self.files[file].name.starts_with(folder);
        let mut imports = BTreeMap::new();
        for (from, reference, target) in self.followed() {
            if let Target::Item(to, item) = target
                && from != to
                && is_inside(from)
                && is_inside(to)
            {
                let line = reference.line;
                let items = BTreeSet::new();
                let import = imports.entry((from, to));
                let import = import.or_insert(Import {
                    from,
                    to,
                    line,
                    items,
                });
                import.line = import.line.min(line);
                import.items.insert(item);
            }
        }
        imports.into_values().collect()
    }

    /// Lists the paths into a module of the crate that end at an unknown name.
    pub fn unknown_names(&self) -> Vec<String> {
        self.followed()
            .filter(|(_, _, target)| *target == Target::Unknown)
            .map(|(from, reference, _)| {
                let file = &self.files[from].name;
                format!(
                    "src/{file}:{} names {}",
                    reference.line,
                    reference.path.join("::")
                )
            })
            .collect()
    }

    /// Resolves each reference outside tests.
    fn followed(&self) -> impl Iterator<Item = (usize, &Reference, Target<'_>)> {
        let modules = self.modules.iter().enumerate();
        let modules = modules.filter(|(_, module)| !module.is_test);
        modules.flat_map(move |(index, module)| {
            // A re-export in a `mod.rs` is not a use; a path through it counts for the file that defines the item.
            let is_contents = is_contents(&self.files[module.file].name);
            let references = module.references.iter();
            let references = references.filter(|reference| !reference.is_test);
            references
                .filter(move |reference| !(is_contents && reference.how == How::Reexport))
                .map(move |reference| {
                    let target = self.follow(index, &reference.path, &mut Vec::new());
                    (module.file, reference, target)
                })
        })
    }

    /// Resolves a path as a module spells it. `seen` has the names that are being resolved, to stop at a loop.
    fn follow<'a>(
        &'a self,
        module: usize,
        path: &[String],
        seen: &mut Vec<(usize, String)>,
    ) -> Target<'a> {
        let mut current = module;
        let mut rest = path;
        let mut is_first = true;
        while let Some((segment, behind)) = rest.split_first() {
            let next = match segment.as_str() {
                "" | "Self" => return Target::Elsewhere,
                "crate" => self.module(&[]),
                "self" if is_first => Some(current),
                "super" => self.parent(current),
                _ => match self.look_up(current, segment, !behind.is_empty(), seen) {
                    Some(Target::Module(next)) => Some(next),
                    Some(target) => return target,
                    None if is_first => return Target::Elsewhere,
                    None => return Target::Unknown,
                },
            };
            let Some(next) = next else {
                return Target::Elsewhere;
            };
            current = next;
            rest = behind;
            is_first = false;
        }
        Target::Module(current)
    }

    /// Finds a name in a module. A module and a function may share a name: before `::`, it is the module.
    fn look_up<'a>(
        &'a self,
        module: usize,
        name: &str,
        must_be_module: bool,
        seen: &mut Vec<(usize, String)>,
    ) -> Option<Target<'a>> {
        let own = &self.modules[module];
        let child = self.module(&[&own.path[..], &[name.to_owned()]].concat());
        let child = child.map(Target::Module);
        if must_be_module && child.is_some() {
            return child;
        }
        if let Some(item) = own.items.get(name) {
            return Some(Target::Item(own.file, item));
        }
        let step = (module, name.to_owned());
        if !seen.contains(&step) {
            seen.push(step);
            let bound = own.bindings.get(name);
            let bound = bound.map(|path| self.follow(module, path, seen));
            let found = bound.or_else(|| self.look_up_in_globs(module, name, must_be_module, seen));
            seen.pop();
            if found.is_some() {
                return found;
            }
        }
        child
    }

    fn look_up_in_globs<'a>(
        &'a self,
        module: usize,
        name: &str,
        must_be_module: bool,
        seen: &mut Vec<(usize, String)>,
    ) -> Option<Target<'a>> {
        let mut globs = self.modules[module].globs.iter();
        globs.find_map(|path| match self.follow(module, path, seen) {
            Target::Module(target) => self.look_up(target, name, must_be_module, seen),
            _ => None,
        })
    }

    fn module(&self, path: &[String]) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    fn parent(&self, module: usize) -> Option<usize> {
        let (_, parent) = self.modules[module].path.split_last()?;
        self.module(parent)
    }
}

/// Returns whether a file is the table of contents of its folder.
fn is_contents(name: &str) -> bool {
    name == "lib.rs" || name.ends_with("/mod.rs")
}

fn module_path(file: &str) -> Path {
    let name = file.trim_end_matches(".rs");
    let name = name.strip_suffix("/mod").unwrap_or(name);
    if name == "lib" {
        return Path::new();
    }
    name.split('/').map(str::to_owned).collect()
}
