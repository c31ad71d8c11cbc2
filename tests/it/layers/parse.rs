//! Reads the modules of a file: the items each defines, the names it imports, the paths it names.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::items::Items;
use super::tokens::{self, Kind, Token};
use super::uses::{self, Brings};

/// A path as it is written, one entry per segment. The first is empty for `::std::fs`.
pub type Path = Vec<String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A private `use`.
    Import,
    /// A `pub use`, whatever its visibility is restricted to.
    Reexport,
    /// A path in the code.
    Code,
}

#[derive(Debug)]
pub struct Reference {
    pub path: Path,
    pub line: usize,
    pub how: How,
    pub is_test: bool,
}

#[derive(Debug, Default)]
pub struct Module {
    pub path: Path,
    /// The index of its file.
    pub file: usize,
    pub is_test: bool,
    /// The names that it defines, and those that its macros seem to define.
    pub items: BTreeSet<String>,
    /// The names that it imports and the paths that they stand for.
    pub bindings: BTreeMap<String, Path>,
    pub globs: Vec<Path>,
    pub references: Vec<Reference>,
    /// The `mod name;` that are declared for tests only.
    pub test_children: Vec<String>,
}

impl Module {
    /// Returns a path with `self` and `super` replaced by where they lead: `crate::store::Page`.
    pub fn spell_out(&self, path: &[String]) -> String {
        let mut base: Option<Path> = None;
        let mut rest = path
            .iter()
            .map(String::as_str)
            .skip_while(|part| part.is_empty())
            .peekable();
        while let Some(part @ ("crate" | "self" | "super")) = rest.peek().copied() {
            let inside = base.get_or_insert_with(|| self.path.clone());
            match part {
                "crate" => inside.clear(),
                "super" => drop(inside.pop()),
                _ => {}
            }
            rest.next();
        }
        let base = base.map(|base| [vec!["crate".to_owned()], base].concat());
        let parts = base.into_iter().flatten().chain(rest.map(str::to_owned));
        parts.collect::<Vec<_>>().join("::")
    }
}

/// Returns the module of a file, and those written out inside it.
pub fn read_modules(tokens: &[Token], path: Path, file: usize) -> Vec<Module> {
    let mut parser = Parser {
        items: Items(tokens),
        modules: Vec::new(),
    };
    parser.read_module(0..tokens.len(), path, file, false);
    parser.modules
}

struct Parser<'a> {
    items: Items<'a>,
    modules: Vec<Module>,
}

impl Parser<'_> {
    fn read_module(&mut self, range: Range<usize>, path: Path, file: usize, is_test: bool) {
        let index = self.modules.len();
        self.modules.push(Module {
            path,
            file,
            is_test,
            ..Module::default()
        });
        let mut at = range.start;
        while at < range.end {
            let (after, is_test_item) = self.items.skip_attributes(at);
            self.read_references(at..after, index, is_test || is_test_item);
            let end = self
                .items
                .item_end(after)
                .clamp(after + 1, range.end.max(after + 1));
            self.read_item(after..end.min(range.end), index, is_test || is_test_item);
            at = end;
        }
    }

    fn read_item(&mut self, range: Range<usize>, module: usize, is_test: bool) {
        let keyword = self.items.keyword(range.start);
        let name = self.items.word(keyword + 1).map(str::to_owned);
        match (self.items.word(keyword), name) {
            (Some("mod"), Some(name)) if self.items.is_mark(keyword + 2, "{") => {
                let mut path = self.modules[module].path.clone();
                path.push(name);
                let file = self.modules[module].file;
                self.read_module(keyword + 3..range.end - 1, path, file, is_test);
            }
            (Some("mod"), Some(name)) => {
                if is_test {
                    self.modules[module].test_children.push(name);
                }
            }
            (Some("use"), _) => {
                let is_public = self.items.is_word(range.start, "pub");
                self.read_use(keyword, is_public, module, is_test);
            }
            (Some("macro_rules"), _) => {
                if let Some(name) = self.items.word(keyword + 2).map(str::to_owned) {
                    self.modules[module].items.insert(name);
                }
                self.read_references(range, module, is_test);
            }
            (
                Some("fn" | "struct" | "enum" | "trait" | "type" | "const" | "static"),
                Some(name),
            ) => {
                self.modules[module].items.insert(name);
                self.read_references(range, module, is_test);
            }
            (Some("impl"), _) => self.read_references(range, module, is_test),
            _ => {
                // A macro call: the capitalised words in it may be the types it defines.
                let made = self.items.0[range.clone()]
                    .iter()
                    .filter(|token| token.kind == Kind::Word)
                    .filter(|token| token.text.starts_with(char::is_uppercase))
                    .map(|token| token.text.clone());
                self.modules[module].items.extend(made);
                self.read_references(range, module, is_test);
            }
        }
    }

    fn read_references(&mut self, range: Range<usize>, module: usize, is_test: bool) {
        let mut at = range.start;
        while at < range.end {
            if self.items.is_mark(at, "#")
                && (self.items.is_mark(at + 1, "[") || self.items.is_mark(at + 1, "!"))
            {
                let (after, is_test_item) = self.items.skip_attributes(at);
                self.read_attribute(at + 1..after, module, is_test || is_test_item);
                at = after;
                if is_test_item && !is_test && at < range.end {
                    let end = self.items.item_end(at).clamp(at + 1, range.end);
                    self.read_references(at..end, module, true);
                    at = end;
                }
            } else if self.items.is_word(at, "use") && !self.items.is_mark(at + 1, "<") {
                at = self.read_use(at, false, module, is_test);
            } else {
                at = self.read_path(at, module, is_test);
            }
        }
    }

    /// Reads the paths of an attribute, also those in strings: `#[serde(with = "super::date")]`.
    fn read_attribute(&mut self, range: Range<usize>, module: usize, is_test: bool) {
        let mut at = range.start;
        while at < range.end {
            let token = &self.items.0[at];
            if token.kind == Kind::Text && token.text.contains("::") && !token.text.contains(' ') {
                let line = token.line;
                let path = tokens::split(&token.text)
                    .into_iter()
                    .filter(|token| token.kind == Kind::Word)
                    .map(|token| token.text)
                    .collect();
                self.modules[module].references.push(Reference {
                    path,
                    line,
                    how: How::Code,
                    is_test,
                });
            }
            at = self.read_path(at, module, is_test);
        }
    }

    /// Reads a `use` and returns the position behind it.
    fn read_use(&mut self, at: usize, is_public: bool, module: usize, is_test: bool) -> usize {
        let (leaves, end) = uses::flatten(self.items.0, at + 1);
        let module = &mut self.modules[module];
        for leaf in leaves {
            match leaf.brings {
                Brings::Name(name) => {
                    module.bindings.insert(name, leaf.path.clone());
                }
                Brings::All => module.globs.push(leaf.path.clone()),
                Brings::Nothing => {}
            }
            module.references.push(Reference {
                path: leaf.path,
                line: leaf.line,
                how: if is_public {
                    How::Reexport
                } else {
                    How::Import
                },
                is_test,
            });
        }
        end
    }

    /// Reads the path that starts here, if one does, and returns the position behind it.
    fn read_path(&mut self, start: usize, module: usize, is_test: bool) -> usize {
        let before = start.checked_sub(1).map(|at| &self.items.0[at]);
        let goes_on = before.is_some_and(|token| token.is_mark(".") || token.is_mark("::"));
        let is_name =
            before.is_some_and(|token| token.is_word("fn")) || self.items.is_mark(start + 1, ":");
        let is_variable =
            before.is_some_and(|token| token.is_mark("$")) && !self.items.is_word(start, "crate");
        let is_absolute = self.items.is_mark(start, "::")
            && !before.is_some_and(|token| token.kind == Kind::Word || token.is_mark(">"));
        let mut path = Path::new();
        let mut at = start;
        if is_absolute {
            path.push(String::new());
            at += 1;
        }
        let Some(first) = self.items.word(at) else {
            return start + 1;
        };
        path.push(first.to_owned());
        at += 1;
        while self.items.is_mark(at, "::")
            && let Some(next) = self.items.word(at + 1)
        {
            path.push(next.to_owned());
            at += 2;
        }
        if !(goes_on || is_name || is_variable) {
            self.modules[module].references.push(Reference {
                path,
                line: self.items.0[start].line,
                how: How::Code,
                is_test,
            });
        }
        at
    }
}
