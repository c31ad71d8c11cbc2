//! Replies: the text of an answer, and the type that it has.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::ClientError;
use crate::api::Answer;

/// A successful answer, as the server sent it. It is parsed only when its data is asked for.
#[derive(Debug, Clone)]
pub struct Reply<T = Untyped> {
    url: String,
    pub text: String,
    data: PhantomData<fn() -> T>,
}

/// The type of a reply to a request by path: the reader of its data names the type.
#[derive(Debug, Clone, Copy)]
pub struct Untyped;

impl<T> Reply<T> {
    pub(super) const fn new(url: String, text: String) -> Self {
        Self {
            url,
            text,
            data: PhantomData,
        }
    }

    /// Reads the answer as another type than its own.
    pub fn read<U: DeserializeOwned>(&self) -> Result<Answer<U>, ClientError> {
        serde_json::from_str(&self.text).map_err(|error| ClientError::garbled(&self.url, &error))
    }
}

impl<T: DeserializeOwned> Reply<T> {
    pub fn data(&self) -> Result<T, ClientError> {
        self.answer().map(|answer| answer.data)
    }

    pub fn answer(&self) -> Result<Answer<T>, ClientError> {
        self.read()
    }
}

impl Reply {
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        self.answer().map(|answer| answer.data)
    }

    pub fn answer<T: DeserializeOwned>(&self) -> Result<Answer<T>, ClientError> {
        self.read()
    }
}
