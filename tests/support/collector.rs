//! An OpenTelemetry collector that keeps what it gets.
//!
//! The messages are written down here from the specification (opentelemetry-proto 1.x), with the fields that tests look at,
//! so that the crate that writes them is not the one that reads them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

/// A span, as it comes over the wire.
#[derive(Clone, PartialEq, Message)]
pub struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub name: String,
    #[prost(int32, tag = "6")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
    #[prost(message, optional, tag = "15")]
    pub status: Option<Status>,
}

/// How a span ended.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(int32, tag = "3")]
    pub code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AttributeValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AttributeValue {
    #[prost(string, optional, tag = "1")]
    string: Option<String>,
}

fn texts(attributes: &[Attribute]) -> BTreeMap<String, String> {
    attributes
        .iter()
        .filter_map(|attribute| {
            let value = attribute.value.as_ref()?.string.clone()?;
            Some((attribute.key.clone(), value))
        })
        .collect()
}

impl Span {
    /// Returns the attributes that are text.
    pub fn attributes(&self) -> BTreeMap<String, String> {
        texts(&self.attributes)
    }
}

/// A span, with what came around it.
#[derive(Clone)]
pub struct Received {
    pub span: Span,
    /// The attributes of whoever sent it.
    pub sender: BTreeMap<String, String>,
    pub headers: HeaderMap,
}

type Kept = Arc<Mutex<Vec<Received>>>;

/// A collector on a port of its own.
pub struct Collector {
    pub url: String,
    kept: Kept,
}

impl Collector {
    /// Begins to listen.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Kept::default();
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(kept.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, kept }
    }

    /// Returns the spans with this id, which is in hex.
    pub fn spans(&self, id: &str) -> Vec<Received> {
        let kept = self.kept.lock().unwrap();
        kept.iter()
            .filter(|received| hex(&received.span.id) == id)
            .cloned()
            .collect()
    }
}

async fn take(State(kept): State<Kept>, headers: HeaderMap, body: Bytes) {
    let request = Request::decode(body).unwrap();
    for group in request.resource_spans {
        let sender = texts(&group.resource.unwrap_or_default().attributes);
        for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            kept.lock().unwrap().push(Received {
                span,
                sender: sender.clone(),
                headers: headers.clone(),
            });
        }
    }
}

/// Writes bytes as lowercase hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}
