//! The files of the web app: embedded in the program, or in a folder while somebody changes them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use bytes::Bytes;
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

/// The page itself, which names its files with [`VERSION`].
pub(super) const INDEX: &str = "index.html";

/// Stands for the version of the assets in the page.
pub(super) const VERSION: &str = "{{version}}";

static EMBEDDED: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/web/assets");

static FILES: LazyLock<Embedded> = LazyLock::new(|| {
    let mut files = BTreeMap::new();
    collect(&EMBEDDED, &mut files);
    let mut all = Sha256::new();
    for (path, asset) in &files {
        all.update(format!("{path}\n{}\n", asset.etag));
    }
    let mut version = short(&all.finalize());
    version.truncate(16);
    Embedded { version, files }
});

struct Embedded {
    /// A hash over all files, which is a part of their addresses.
    version: String,
    files: BTreeMap<&'static str, Asset>,
}

/// The files of the web app.
#[derive(Debug, Clone, Default)]
pub enum Assets {
    /// The files in this program.
    #[default]
    Embedded,
    /// The files of a folder, read anew for every request.
    Folder(PathBuf),
}

#[derive(Debug, Clone)]
pub(super) struct Asset {
    pub bytes: Bytes,
    /// With quotes, as the header has it.
    pub etag: String,
}

impl Asset {
    pub fn new(bytes: Bytes) -> Self {
        let etag = format!("\"{}\"", short(&Sha256::digest(&bytes)));
        Self { bytes, etag }
    }
}

impl Assets {
    /// Returns a hash over all files. A page with another one is older than the server.
    pub fn version(&self) -> &str {
        match self {
            Self::Embedded => &FILES.version,
            Self::Folder(_) => "folder",
        }
    }

    /// Whether the files never change while the server runs.
    pub(super) const fn are_fixed(&self) -> bool {
        matches!(self, Self::Embedded)
    }

    pub(super) async fn read(&self, path: &str) -> Option<Asset> {
        match self {
            Self::Embedded => FILES.files.get(path).cloned(),
            Self::Folder(folder) if is_plain(path) => {
                let bytes = tokio::fs::read(folder.join(path)).await.ok()?;
                Some(Asset::new(bytes.into()))
            }
            Self::Folder(_) => None,
        }
    }
}

/// Whether a path stays in its folder.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    })
}

fn collect(folder: &'static Dir, files: &mut BTreeMap<&'static str, Asset>) {
    for file in folder.files() {
        let path = file.path().to_str().expect("the names of assets are ASCII");
        files.insert(path, Asset::new(Bytes::from_static(file.contents())));
    }
    for folder in folder.dirs() {
        collect(folder, files);
    }
}

/// Writes the first half of a hash in hexadecimal digits.
fn short(hash: &[u8]) -> String {
    hash[..16].iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String accepts all text");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_path_that_leaves_the_folder_is_not_plain() {
        for plain in ["app.js", "lib/view.js", "parts/virtual-list.js"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "",
            "/etc/passwd",
            "../Cargo.toml",
            "lib/../../x",
            "lib//x",
            ".git/config",
            "a\\b",
            "a\0b",
        ] {
            assert!(!is_plain(other), "{other:?}");
        }
    }
}
