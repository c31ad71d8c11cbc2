//! An OpenTelemetry collector that keeps the spans it receives.
//!
//! The messages are declared here from the specification (opentelemetry-proto 1.x), with the fields that tests read, so that the
//! spans are not decoded by the crate that encodes them.

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

/// A span as it is on the wire.
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

fn string_attributes(attributes: &[Attribute]) -> BTreeMap<String, String> {
    attributes
        .iter()
        .filter_map(|attribute| {
            let value = attribute.value.as_ref()?.string.clone()?;
            Some((attribute.key.clone(), value))
        })
        .collect()
}

impl Span {
    /// Returns the string attributes.
    pub fn attributes(&self) -> BTreeMap<String, String> {
        string_attributes(&self.attributes)
    }
}

/// A span with its resource and the headers of its HTTP request.
#[derive(Clone)]
pub struct Received {
    pub span: Span,
    pub resource: BTreeMap<String, String>,
    pub headers: HeaderMap,
}

type Spans = Arc<Mutex<Vec<Received>>>;

/// A collector on a port of its own.
pub struct Collector {
    pub url: String,
    spans: Spans,
}

impl Collector {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans = Spans::default();
        let router = Router::new()
            .route("/v1/traces", post(receive))
            .with_state(spans.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, spans }
    }

    /// Returns the spans with an id, given in hex.
    pub fn spans(&self, id: &str) -> Vec<Received> {
        let spans = self.spans.lock().unwrap();
        spans
            .iter()
            .filter(|received| hex(&received.span.id) == id)
            .cloned()
            .collect()
    }
}

async fn receive(State(spans): State<Spans>, headers: HeaderMap, body: Bytes) {
    let request = Request::decode(body).unwrap();
    for group in request.resource_spans {
        let resource = string_attributes(&group.resource.unwrap_or_default().attributes);
        for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.lock().unwrap().push(Received {
                span,
                resource: resource.clone(),
                headers: headers.clone(),
            });
        }
    }
}

/// Formats bytes as lowercase hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}
