//! Idempotency keys of HTTP requests.

/// The value of an `Idempotency-Key` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Idempotency-Key must be 1 to 255 visible ASCII characters")]
pub struct IllegalKey;

impl IdempotencyKey {
    pub fn parse(key: &str) -> Result<Self, IllegalKey> {
        if (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(key.to_owned()))
        } else {
            Err(IllegalKey)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An idempotency key with a fingerprint of its request. The same key with another fingerprint is a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub key: IdempotencyKey,
    /// The SHA-256 of method, path, query and body.
    pub fingerprint: [u8; 32],
}
