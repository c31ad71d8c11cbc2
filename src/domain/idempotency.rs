//! Idempotency keys of HTTP requests.

/// The value of an `Idempotency-Key` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

/// Says why a string cannot be an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Idempotency-Key must be 1 to 255 visible ASCII characters")]
pub struct IllegalKey;

impl IdempotencyKey {
    /// Reads a key.
    pub fn parse(key: &str) -> Result<Self, IllegalKey> {
        if (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(key.to_owned()))
        } else {
            Err(IllegalKey)
        }
    }

    /// Returns the key as it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What makes two requests the same: the key, and a hash of all that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The key that the caller chose.
    pub key: IdempotencyKey,
    /// SHA-256 of method, path, query and body.
    pub fingerprint: [u8; 32],
}
