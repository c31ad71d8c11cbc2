//! Secret tokens: random, stored in files that only their owner may read, and compared in constant time.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;
use subtle::ConstantTimeEq;

/// The fewest characters of a token in a file.
const SHORTEST: usize = 16;

/// The most bytes of a token's file that are read.
const LONGEST: u64 = 4096;

/// A secret token. Its `Debug` form hides the value.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Reads the token in a file, or `None` without a file. A link or a pipe is refused: another program may have put it there.
    pub fn load(path: &Path) -> std::io::Result<Option<Self>> {
        match open_plain(path)? {
            Some(file) => Self::read(file).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the token in a file of this user, or creates a new one there. Only the owner may read the file.
    pub fn load_or_create(path: &Path) -> std::io::Result<Self> {
        if let Some(file) = open_plain(path)? {
            if file.metadata()?.uid() != geteuid().as_raw() {
                return Err(std::io::Error::other(
                    "the file belongs to another user; remove it to get a new token",
                ));
            }
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
            return Self::read(file);
        }
        let token = Self::random()?;
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        let unfinished = tempfile::Builder::new()
            .prefix(".token-")
            .tempdir_in(folder)?;
        let name = unfinished.path().join("token");
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name)?;
        writeln!(file, "{}", token.0)?;
        file.sync_all()?;
        std::fs::rename(&name, path)?;
        Ok(token)
    }

    fn read(file: File) -> std::io::Result<Self> {
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text)?;
        let word = text.trim();
        let is_token = word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_graphic());
        if is_token {
            Ok(Self(word.to_owned()))
        } else {
            Err(std::io::Error::other(format!(
                "the file has no token, which is one word of at least {SHORTEST} ASCII characters; remove the file to get a new one"
            )))
        }
    }

    pub const fn given(token: String) -> Self {
        Self(token)
    }

    /// Generates a token of 256 random bits.
    pub fn random() -> std::io::Result<Self> {
        let part = || getrandom::u64().map_err(std::io::Error::other);
        let word = format!(
            "{:016x}{:016x}{:016x}{:016x}",
            part()?,
            part()?,
            part()?,
            part()?
        );
        Ok(Self(word))
    }

    /// Compares in constant time.
    pub fn is(&self, word: &str) -> bool {
        self.0.as_bytes().ct_eq(word.as_bytes()).into()
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Opens a file without following links or waiting for a pipe. Returns `None` if there is none.
fn open_plain(path: &Path) -> std::io::Result<Option<File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
        Ok(_) => Err(not_plain()),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Err(not_plain()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn not_plain() -> std::io::Error {
    std::io::Error::other("it is not a plain file; remove it to get a new token")
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_created_once_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operator.token");
        let first = Token::load_or_create(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let second = Token::load_or_create(&path).unwrap();
        assert_eq!(first.reveal().len(), 64);
        assert!(second.is(first.reveal()));
        assert!(!second.is(""));
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(format!("{first:?}"), "Token(…)");
    }

    #[test]
    fn a_link_a_pipe_a_folder_and_a_file_without_a_token_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operator.token");
        let other = folder.path().join("other");
        let refuse = |why: &str| {
            for error in [
                Token::load_or_create(&path).unwrap_err(),
                Token::load(&path).unwrap_err(),
            ] {
                assert!(error.to_string().contains(why), "{error}");
            }
            if path.symlink_metadata().unwrap().is_dir() {
                std::fs::remove_dir(&path).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
        };
        let word = "0123456789abcdef";
        std::fs::write(&other, word).unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        refuse("not a plain file");
        let mode = std::fs::metadata(&other).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "the target of a link is left alone");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        refuse("not a plain file");
        std::fs::create_dir(&path).unwrap();
        refuse("not a plain file");
        for text in [
            "",
            "\n",
            "short",
            "two words of a token",
            "ünverwechselbar1",
        ] {
            std::fs::write(&path, text).unwrap();
            refuse("no token");
        }
        assert!(Token::load(&path).unwrap().is_none());
        std::fs::write(&path, format!("{word}\n")).unwrap();
        assert!(Token::load_or_create(&path).unwrap().is(word));
    }
}
