//! Requests: addresses, tokens, headers and paths.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Request, RequestBuilder, Response, StatusCode};
use serde::Serialize;

use super::patience::{Patience, Wait};
use super::{ClientError, Replied, Reply, Untyped};
use crate::api::ErrorAnswer;
use crate::domain::TraceParent;
use crate::secret::Token;

/// The address at which a server listens by default.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// The beginning of the address of a Unix socket.
pub const UNIX: &str = "unix:";

/// The longest address of a request, in bytes; the server refuses one of 65,535.
const LONGEST_ADDRESS: usize = 65_000;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The characters of a path segment that are encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    /// The part of a request's address before its path.
    base: String,
    token: Option<Token>,
    spare_token: Option<Token>,
    trace: Option<TraceParent>,
    pub(super) patience: Option<Patience>,
}

impl Client {
    /// Sends nothing yet: a server that is away is noticed by the first request.
    pub fn new(url: &str, token: Option<Token>) -> Result<Self, ClientError> {
        let url = url.trim_end_matches('/').to_owned();
        let socket = url.strip_prefix(UNIX).map(PathBuf::from);
        if socket.is_none() && !url.starts_with("http://") && !url.starts_with("https://") {
            let cause = "the address must begin with http:// or unix:".to_owned();
            return Err(ClientError::Unreachable { url, cause });
        }
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .no_proxy();
        let base = match socket {
            Some(path) => {
                http = http.unix_socket(path);
                "http://localhost".to_owned()
            }
            None => url.clone(),
        };
        let http = http
            .build()
            .map_err(|error| ClientError::unreachable(&url, &error))?;
        Ok(Self {
            http,
            url,
            base,
            token,
            spare_token: None,
            trace: None,
            patience: None,
        })
    }

    /// Adds a token that is shown only if the server asks for one.
    #[must_use]
    pub fn with_spare_token(mut self, token: Option<Token>) -> Self {
        self.spare_token = token;
        self
    }

    /// Adds the trace that all requests belong to.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<TraceParent>) -> Self {
        self.trace = trace;
        self
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a request for something that no typed method covers, by its path.
    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Replied<Untyped> {
        self.send(self.request(Method::GET, path).query(query))
            .await
    }

    /// Sends a JSON body to a path that no typed method covers.
    pub async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Replied<Untyped> {
        self.send(self.request(method, path).json(body)).await
    }

    pub async fn send(&self, request: RequestBuilder) -> Replied<Untyped> {
        self.exchange(request).await
    }

    /// Begins a request with the client's headers.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let is_safe = method.is_safe();
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(trace) = &self.trace {
            request = request.header("traceparent", trace.to_string());
        }
        if !is_safe && self.patience.is_some() {
            request = request.header("idempotency-key", uuid::Uuid::now_v7().to_string());
        }
        match &self.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        }
    }

    /// Sends a request and reads the answer piece by piece.
    pub async fn stream(
        &self,
        request: RequestBuilder,
    ) -> Result<impl Stream<Item = Result<Bytes, ClientError>> + Unpin + use<>, ClientError> {
        let mut request = self.build(request)?;
        let mut wait = Wait::new(self.patience);
        let response = loop {
            let again = request.try_clone();
            match (self.respond(request).await, again) {
                (Err(error), Some(again)) if wait.after(&error).await => {
                    request = again;
                }
                (response, _) => break response?,
            }
        };
        let url = self.url.clone();
        Ok(response
            .bytes_stream()
            .map(move |piece| piece.map_err(|error| ClientError::unreachable(&url, &error))))
    }

    /// Begins a request to a path below `/api`, whose segments may have any characters. A dot segment is not found and never sent: URL
    /// parsers fold it away, even percent-encoded, and the request would reach another path.
    pub(super) fn at(
        &self,
        method: Method,
        segments: &[&str],
    ) -> Result<RequestBuilder, ClientError> {
        let mut path = "/api".to_owned();
        let mut noun = "";
        for segment in segments {
            if matches!(*segment, "" | "." | "..") {
                return Err(ClientError::not_found(noun, segment));
            }
            path.push('/');
            path.extend(utf8_percent_encode(segment, ENCODED));
            noun = segment;
        }
        Ok(self.request(method, &path))
    }

    pub(super) async fn fetch<T>(&self, segments: &[&str], query: &impl Serialize) -> Replied<T> {
        self.exchange(self.at(Method::GET, segments)?.query(query))
            .await
    }

    pub(super) async fn post<T>(&self, segments: &[&str], body: &impl Serialize) -> Replied<T> {
        self.exchange(self.at(Method::POST, segments)?.json(body))
            .await
    }

    pub(super) async fn put<T>(&self, segments: &[&str], body: &impl Serialize) -> Replied<T> {
        self.exchange(self.at(Method::PUT, segments)?.json(body))
            .await
    }

    /// Sends a request without a body.
    pub(super) async fn call<T>(&self, method: Method, segments: &[&str]) -> Replied<T> {
        self.exchange(self.at(method, segments)?).await
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn exchange<T>(&self, request: RequestBuilder) -> Replied<T> {
        let mut request = self.build(request)?;
        let mut wait = Wait::new(self.patience);
        loop {
            let again = request.try_clone();
            match (self.read(request).await, again) {
                (Err(error), Some(again)) if wait.after(&error).await => {
                    request = again;
                }
                (text, _) => return Ok(Reply::new(self.url.clone(), text?)),
            }
        }
    }

    /// Sends a request once, and reads the whole answer.
    async fn read(&self, request: Request) -> Result<String, ClientError> {
        let text = self.respond(request).await?.text().await;
        text.map_err(|error| ClientError::unreachable(&self.url, &error))
    }

    fn build(&self, request: RequestBuilder) -> Result<Request, ClientError> {
        let request = request
            .build()
            .map_err(|error| ClientError::unreachable(&self.url, &error))?;
        match request.url().as_str().len() {
            bytes if bytes > LONGEST_ADDRESS => Err(ClientError::TooLong { bytes }),
            _ => Ok(request),
        }
    }

    /// Sends a request, a second time with the spare token if the server asks for one. A refusal is an error.
    async fn respond(&self, request: Request) -> Result<Response, ClientError> {
        let again = self.spare_token.as_ref().zip(request.try_clone());
        let mut response = self.http.execute(request).await;
        if let Ok(refused) = &response
            && refused.status() == StatusCode::UNAUTHORIZED
            && let Some((token, again)) = again
        {
            let again = RequestBuilder::from_parts(self.http.clone(), again);
            response = again.bearer_auth(token.reveal()).send().await;
        }
        let response = response.map_err(|error| ClientError::unreachable(&self.url, &error))?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.refusal(response).await)
        }
    }

    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status();
        let text = match response.text().await {
            Ok(text) => text,
            Err(error) => return ClientError::unreachable(&self.url, &error),
        };
        match serde_json::from_str::<ErrorAnswer>(&text) {
            Ok(ErrorAnswer { error }) => ClientError::Refused {
                status,
                error: Box::new(error),
            },
            Err(_) => ClientError::garbled(&self.url, &format_args!("it answered {status}")),
        }
    }
}
