//! Secret tokens: random, stored in files that only their owner may read, and compared in constant time.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use subtle::ConstantTimeEq;

/// A secret token. Its `Debug` form hides the value.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Reads the token in a file, or creates a new one there. Only the owner may read the file.
    pub fn load_or_create(path: &Path) -> std::io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(token) if !token.trim().is_empty() => {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                return Ok(Self(token.trim().to_owned()));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
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
}
