//! The API from the other side: a typed HTTP client, used by the command line and by tests.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::{Answer, ErrorAnswer, ErrorBody};
use crate::domain::TraceParent;
use crate::secret::Token;

/// Where the server listens if nobody says otherwise.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A server to talk to.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<Token>,
    spare_token: Option<Token>,
    trace: Option<TraceParent>,
}

/// Why a request has no answer, or a bad one.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers there.
    #[error("cannot reach a Chorus server at {url}: {cause}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        cause: String,
    },
    /// The server refused.
    #[error("{}", error.message)]
    Refused {
        /// The status of the answer.
        status: StatusCode,
        /// What the server says.
        error: Box<ErrorBody>,
    },
    /// What answered does not speak this API.
    #[error("what answers at {url} is not a Chorus server, or one of another version: {cause}")]
    Garbled {
        /// Where.
        url: String,
        /// What was wrong.
        cause: String,
    },
}

/// An answer, as it came.
#[derive(Debug, Clone)]
pub struct Reply {
    url: String,
    /// The text of the body.
    pub text: String,
}

impl Reply {
    /// Reads what was asked for.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        self.answer().map(|answer| answer.data)
    }

    /// Reads what was asked for, and what is said about it.
    pub fn answer<T: DeserializeOwned>(&self) -> Result<Answer<T>, ClientError> {
        serde_json::from_str(&self.text).map_err(|error| ClientError::Garbled {
            url: self.url.clone(),
            cause: error.to_string(),
        })
    }
}

impl Client {
    /// Makes a client. Nothing is sent yet.
    pub fn new(url: &str, token: Option<Token>) -> Result<Self, ClientError> {
        let url = url.trim_end_matches('/').to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let cause = "the address must begin with http://".to_owned();
            return Err(ClientError::Unreachable { url, cause });
        }
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .no_proxy()
            .build();
        let http = http.map_err(|error| ClientError::Unreachable {
            url: url.clone(),
            cause: causes(&error),
        })?;
        Ok(Self {
            http,
            url,
            token,
            spare_token: None,
            trace: None,
        })
    }

    /// Gives the client a token that it shows only when the server asks for one.
    #[must_use]
    pub fn with_spare_token(mut self, token: Option<Token>) -> Self {
        self.spare_token = token;
        self
    }

    /// Tells the client which work its requests are a part of.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<TraceParent>) -> Self {
        self.trace = trace;
        self
    }

    /// Returns where the server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks for something.
    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Reply, ClientError> {
        self.send(self.request(Method::GET, path).query(query))
            .await
    }

    /// Sends a JSON body.
    pub async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Reply, ClientError> {
        self.send(self.request(method, path).json(body)).await
    }

    /// Begins a request.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(trace) = &self.trace {
            request = request.header("traceparent", trace.to_string());
        }
        match &self.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        }
    }

    /// Sends a request and reads the answer piece by piece.
    pub async fn stream(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<impl Stream<Item = Result<Bytes, ClientError>> + Unpin + use<>, ClientError> {
        let response = self.answer_to(request).await?;
        if !response.status().is_success() {
            return Err(self
                .read(response)
                .await
                .err()
                .unwrap_or_else(|| self.garbled("it answers nothing")));
        }
        let url = self.url.clone();
        Ok(response.bytes_stream().map(move |piece| {
            piece.map_err(|error| ClientError::Unreachable {
                url: url.clone(),
                cause: causes(&error),
            })
        }))
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Reply, ClientError> {
        let response = self.answer_to(request).await?;
        self.read(response).await
    }

    /// Sends a request, a second time with the spare token if the server asks for one.
    async fn answer_to(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, ClientError> {
        let again = self.spare_token.as_ref().zip(request.try_clone());
        let mut response = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if let Some((token, again)) =
            again.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
        {
            response = again
                .bearer_auth(token.reveal())
                .send()
                .await
                .map_err(|error| self.unreachable(&error))?;
        }
        Ok(response)
    }

    async fn read(&self, response: reqwest::Response) -> Result<Reply, ClientError> {
        let status = response.status();
        let text = response
            .text()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            return Ok(Reply {
                url: self.url.clone(),
                text,
            });
        }
        match serde_json::from_str::<ErrorAnswer>(&text) {
            Ok(ErrorAnswer { error }) => Err(ClientError::Refused {
                status,
                error: Box::new(error),
            }),
            Err(_) => Err(self.garbled(&format!("it answers {status}"))),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        ClientError::Unreachable {
            url: self.url.clone(),
            cause: causes(error),
        }
    }

    fn garbled(&self, cause: &str) -> ClientError {
        ClientError::Garbled {
            url: self.url.clone(),
            cause: cause.to_owned(),
        }
    }
}

/// Writes what lies at the bottom of an error: reqwest's own text only repeats the address.
fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
