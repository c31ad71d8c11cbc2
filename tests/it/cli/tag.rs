//! `chorus tag`: what a user sees

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::support::Chorus;

/// A folder with files, and the program in it.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn write(&self, name: impl AsRef<Path>, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        Chorus::new(arguments)
            .current_dir(self.0.path())
            .transcript()
            .replace(self.0.path().to_str().unwrap(), "<folder>")
    }
}

#[test]
fn a_tag_is_not_written_into_a_program() {
    let folder = Folder::new(&[("main.rs", "fn main() {}\n"), ("TODO", "Tidy up\n")]);
    assert_snapshot!(folder.run(["tag", "add", "main.rs", "#needs-fix"]), @"
    exit 1
    --- stdout
    --- stderr
    error: <folder>/main.rs is not Markdown: tags belong into files that end in .md, .markdown or .txt
    ");
    assert_eq!(folder.read("main.rs"), "fn main() {}\n");
    let added = folder.run(["tag", "add", "TODO", "#needs-fix"]);
    assert!(added.starts_with("exit 0\n"), "{added}");
}

#[test]
fn tags_are_added_and_removed() {
    let folder = Folder::new(&[("notes.md", "# Notes\n\nText.\n")]);
    let add = ["tag", "add", "notes.md", "#needs-implementation", "P1"];
    assert_snapshot!(folder.run(add), @"
    exit 0
    --- stdout
    notes.md:2	#needs-implementation #P1
    --- stderr
    ");
    assert_eq!(
        folder.read("notes.md"),
        "# Notes\n**Tags**: #needs-implementation #P1\n\nText.\n"
    );
    assert_snapshot!(folder.run(add), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #needs-implementation is already on line 2; the file now has #needs-implementation (line 2), #P1 (line 2)
    ");
    assert_snapshot!(folder.run(["tag", "add", "notes.md", "#S", "--inline", "4"]), @"
    exit 0
    --- stdout
    notes.md:4	#S
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "remove", "notes.md", "#P1", "#S"]), @"
    exit 0
    --- stdout
    notes.md:4	no longer #P1 #S
    --- stderr
    ");
    assert_eq!(
        folder.read("notes.md"),
        "# Notes\n**Tags**: #needs-implementation\n\nText.\n"
    );
    assert_snapshot!(folder.run(["tag", "remove", "notes.md", "#needs-implementation", "#S"]), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #S is not in the file; the file now has #needs-implementation (line 2)
    ");
    assert_snapshot!(folder.run(["tag", "add", "notes.md", "#S", "--inline", "9"]), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: line 9 does not exist; the file has 4 lines
    ");
    assert_snapshot!(folder.run(["tag", "add", "missing.md", "#S"]), @"
    exit 3
    --- stdout
    --- stderr
    error: cannot open missing.md: No such file or directory (os error 2)
    ");
    assert_snapshot!(folder.run(["tag", "add", "notes.md", "#a b"]), @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value '#a b' for '<TAG>...': a tag must start with a letter or digit and contain only letters, digits, `-` and `_`

    For more information, try '--help'.
    ");
    assert_snapshot!(folder.run(["tag", "add", ".", "#a"]), @"
    exit 1
    --- stdout
    --- stderr
    error: <folder> is not a regular file; name the file itself, not a folder or a symbolic link
    ");
}

#[test]
fn a_swap_that_comes_too_late_names_the_present_tags() {
    let folder = Folder::new(&[(
        "notes.md",
        "# Notes\n**Tags**: #delegated-implementation #P1\n- a #needs-fix\n- b #needs-fix\n`#next-x`\n",
    )]);
    let swap = [
        "tag",
        "swap",
        "notes.md",
        "#delegated-implementation",
        "#claimed-implementation",
    ];
    assert_snapshot!(folder.run(swap), @"
    exit 0
    --- stdout
    notes.md:2	#claimed-implementation
    --- stderr
    ");
    assert_snapshot!(folder.run(swap), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #delegated-implementation is not in the file; the file now has #claimed-implementation (line 2), #P1 (line 2), #needs-fix (line 3), #needs-fix (line 4)
    ");
    assert_snapshot!(folder.run(["tag", "swap", "notes.md", "needs-fix", "done-fix"]), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #needs-fix occurs more than once, on lines 3, 4; choose a line
    hint: name the line with --inline LINE
    ");
    assert_snapshot!(folder.run(["tag", "swap", "notes.md", "needs-fix", "done-fix", "--inline", "4"]), @"
    exit 0
    --- stdout
    notes.md:4	#done-fix
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "swap", "notes.md", "needs-fix", "done-fix", "--inline", "4"]), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #needs-fix is not on line 4; the file now has #claimed-implementation (line 2), #P1 (line 2), #needs-fix (line 3), #done-fix (line 4)
    ");
    assert_snapshot!(folder.run(["tag", "swap", "notes.md", "needs-fix", "done-fix"]), @"
    exit 0
    --- stdout
    notes.md:3	#done-fix
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "swap", "notes.md", "next-x", "done-x"]), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #next-x on line 5 is in code, in a comment or escaped, so it is not a tag; the file now has #claimed-implementation (line 2), #P1 (line 2), #done-fix (line 3), #done-fix (line 4)
    ");
    assert_snapshot!(folder.run(["tag", "swap", "notes.md", "P1", "P1"]), @"
    exit 1
    --- stdout
    --- stderr
    error: notes.md: #P1 cannot be swapped for itself; name two different tags
    ");
    assert_eq!(
        folder.read("notes.md"),
        "# Notes\n**Tags**: #claimed-implementation #P1\n- a #done-fix\n- b #done-fix\n`#next-x`\n"
    );
}

fn tree() -> Folder {
    Folder::new(&[
        (
            "b.md",
            "# B\n**Tags**: #needs-fix #P0\n\nText\twith #needs-fix  and #needs-test\n",
        ),
        (
            "a/A.MARKDOWN",
            "one\ntwo\nthree #needs-fix\nfour\nfive\nsix #needs-fix\n",
        ),
        (
            "a/code.md",
            "`#needs-fix`\n\n```\n#needs-fix\n```\n<!-- #needs-fix -->\n#needs-fixing\n",
        ),
        ("a/text.txt", "#needs-fix\n"),
        ("a/.hidden.md", "#needs-fix\n"),
        ("ignored/c.md", "#needs-fix\n"),
        (".gitignore", "ignored/\n"),
    ])
}

#[test]
fn tags_are_found_in_the_order_of_their_files() {
    let folder = tree();
    assert_snapshot!(folder.run(["tag", "find", "#needs-fix"]), @"
    exit 0
    --- stdout
    a/A.MARKDOWN:3	three #needs-fix
    a/A.MARKDOWN:6	six #needs-fix
    b.md:2	**Tags**: #needs-fix #P0
    b.md:4	Text with #needs-fix and #needs-test
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "needs-*", "b.md"]), @"
    exit 0
    --- stdout
    b.md:2	**Tags**: #needs-fix #P0
    b.md:4	Text with #needs-fix and #needs-test
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#needs-fix", "--tags-only"]), @"
    exit 0
    --- stdout
    b.md:2	**Tags**: #needs-fix #P0
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#needs-fix", "./a/", "--context"]), @"
    exit 0
    --- stdout
    ./a/A.MARKDOWN-1	one
    ./a/A.MARKDOWN-2	two
    ./a/A.MARKDOWN:3	three #needs-fix
    ./a/A.MARKDOWN-4	four
    ./a/A.MARKDOWN-5	five
    ./a/A.MARKDOWN:6	six #needs-fix
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#needs-fix", "a/text.txt"]), @"
    exit 0
    --- stdout
    a/text.txt:1	#needs-fix
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#needs-*", "b.md", "--json"]), @r##"
    exit 0
    --- stdout
    [{"file":"b.md","line":2,"tag":"#needs-fix","place":"tagsLine","text":"**Tags**: #needs-fix #P0"},{"file":"b.md","line":4,"tag":"#needs-fix","place":"inline","text":"Text\twith #needs-fix  and #needs-test"},{"file":"b.md","line":4,"tag":"#needs-test","place":"inline","text":"Text\twith #needs-fix  and #needs-test"}]
    --- stderr
    "##);
    assert_snapshot!(folder.run(["tag", "find", "#needs-test", "--json", "--context"]), @r##"
    exit 0
    --- stdout
    [{"file":"b.md","line":4,"tag":"#needs-test","place":"inline","text":"Text\twith #needs-fix  and #needs-test","context":[{"line":2,"text":"**Tags**: #needs-fix #P0"},{"line":3,"text":""},{"line":4,"text":"Text\twith #needs-fix  and #needs-test"}]}]
    --- stderr
    "##);
    assert_snapshot!(folder.run(["tag", "find", "#nowhere"]), @"
    exit 1
    --- stdout
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#nowhere", "--json"]), @"
    exit 1
    --- stdout
    []
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#a", "missing"]), @"
    exit 3
    --- stdout
    --- stderr
    error: cannot open missing: No such file or directory (os error 2)
    ");
    assert_snapshot!(folder.run(["tag", "find", "#a*b"]), @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value '#a*b' for '<TAG>': `*` must be the last character of a tag pattern

    For more information, try '--help'.
    ");
}

#[test]
fn names_that_are_not_utf8_work_and_are_shown_harmless() {
    let folder = Folder::new(&[]);
    let name = OsStr::from_bytes(b"\x1b[2J\xff\n.md");
    folder.write(name, "#a\n");
    let swap = Chorus::new(["tag", "swap"])
        .argument(name)
        .argument("#a")
        .argument("#b")
        .current_dir(folder.0.path());
    assert_snapshot!(swap.transcript(), @"
    exit 0
    --- stdout
    �[2J��.md:1	#b
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "find", "#b"]), @"
    exit 0
    --- stdout
    �[2J��.md:1	#b
    --- stderr
    ");
}

#[test]
fn waiting_ends_at_once_if_the_tag_is_there_and_at_the_timeout_if_not() {
    let folder = Folder::new(&[("request.md", "# R\n**Tags**: #done-research\n")]);
    assert_snapshot!(folder.run(["tag", "wait", "request.md", "#done-research"]), @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "wait", "request.md", "#done-*"]), @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(folder.run(["tag", "wait", "request.md", "#done-fix", "--timeout", "0"]), @"
    exit 6
    --- stdout
    --- stderr
    error: #done-fix did not appear in request.md in time; the file now has #done-research (line 2)
    ");
    assert_snapshot!(folder.run(["tag", "wait", "missing/x.md", "#done-fix", "--timeout", "0"]), @"
    exit 6
    --- stdout
    --- stderr
    error: #done-fix did not appear in missing/x.md in time; the file does not exist
    ");
    assert_snapshot!(folder.run(["tag", "wait", ".", "#done-fix", "--timeout", "0"]), @"
    exit 1
    --- stdout
    --- stderr
    error: File . cannot be read: not a regular file
    ");
}
