//! Endpoints of webhooks over HTTP/1.1, with TLS or without; and documents that are fetched.
//!
//! The status line decides. Redirects are not followed. No text of an error names an address.
//!
//! **Failure.** A connection that was idle may turn out to be closed: the request is then sent on another one, unless a
//! part of it was written. Nothing else is repeated here.
//!
//! **Memory.** A request with its body; at most [`ANSWER_BYTES_MAX`] of an answer are read, and thrown away. A connection
//! is kept for [`IDLE_MAX`] after a request, at most [`IDLE_PER_HOST_MAX`] for each host.

mod connector;
mod fetch;
mod resolver;
mod stream;
mod tls;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use aws_lc_rs::hmac;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, timeout_at};

use self::connector::{Connector, Undialed};
use model::subscribers::{Delivery, EndpointRules, FailureReason};
use storage::endpoint::{Endpoint, Outcome};

pub use self::fetch::{FetchError, Fetched, Fetcher};
pub use self::tls::NoRoots;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 16 << 10;
/// How long they may take once the status is known.
const ANSWER_MAX: Duration = Duration::from_secs(1);
const IDLE_MAX: Duration = Duration::from_secs(20);
const IDLE_PER_HOST_MAX: usize = 16;
const USER_AGENT: &str = concat!("heartline/", env!("CARGO_PKG_VERSION"));

/// How endpoints are reached.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    pub rules: EndpointRules,
    /// The timeout of a request, from the look-up of the name to the end of the answer.
    pub timeout: Duration,
    /// A file of certificates (PEM) that are trusted beside those of the system; empty = none.
    pub ca: PathBuf,
    /// The DNS server; `None` = those of the system.
    pub dns: Option<SocketAddr>,
}

/// Endpoints cannot be reached with these settings.
#[derive(Debug, thiserror::Error)]
pub enum EndpointRefused {
    #[error(transparent)]
    Roots(#[from] NoRoots),
}

pub struct HttpEndpoint {
    client: Client<Connector, Full<Bytes>>,
    timeout: Duration,
}

impl HttpEndpoint {
    pub fn new(config: EndpointConfig) -> Result<Self, EndpointRefused> {
        let EndpointConfig { rules, timeout, ca, dns } = config;
        let connector = Connector::new(rules, resolver::open(dns), tls::client(&ca, "subscribers.tls_ca")?, timeout);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .build(connector);
        Ok(HttpEndpoint { client, timeout })
    }

    async fn send(&self, delivery: Delivery) -> Outcome {
        let until = Instant::now() + self.timeout;
        let Ok(request) = request(delivery) else { return failed(FailureReason::Connect) };
        let (head, body) = match timeout_at(until, self.client.request(request)).await {
            Ok(Ok(response)) => response.into_parts(),
            Ok(Err(error)) => return failed(reason(&error)),
            Err(_) => return failed(FailureReason::Timeout),
        };
        // Read to its end, it leaves a connection that can be used again.
        let _ = timeout_at(until.min(Instant::now() + ANSWER_MAX), discard(body)).await;
        judge(head.status, &head.headers)
    }
}

impl Endpoint for HttpEndpoint {
    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        Box::pin(self.send(delivery))
    }
}

/// HMAC-SHA256 of the parts, one after the other.
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    parts.iter().for_each(|part| context.update(part));
    context.sign().as_ref().to_vec()
}

fn request(delivery: Delivery) -> http::Result<Request<Full<Bytes>>> {
    let Delivery { url, content_type, id, timestamp, signature, body } = delivery;
    Request::builder()
        .method(Method::POST)
        .uri(url.as_str())
        .header(header::HOST, url.authority())
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONTENT_TYPE, content_type)
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp)
        .header("webhook-signature", signature)
        .body(Full::new(Bytes::from(body)))
}

async fn discard(mut body: Incoming) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > ANSWER_BYTES_MAX {
            return;
        }
    }
}

fn judge(status: StatusCode, headers: &HeaderMap) -> Outcome {
    match status {
        _ if status.is_success() => Outcome::Delivered,
        StatusCode::GONE => Outcome::Gone,
        _ => {
            let reason = if status.is_redirection() { FailureReason::Redirect } else { FailureReason::Status };
            Outcome::Failed { reason, status: Some(status.as_u16()), retry_after: retry_after(headers) }
        }
    }
}

fn failed(reason: FailureReason) -> Outcome {
    Outcome::Failed { reason, status: None, retry_after: None }
}

/// Seconds, or a date (RFC 9110).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    let date = SystemTime::from(date.timestamp());
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// An error with its causes.
fn chain(error: &dyn Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn reason(error: &legacy::Error) -> FailureReason {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = next {
        if let Some(undialed) = cause.downcast_ref::<Undialed>() {
            return undialed.reason();
        }
        next = cause.source();
    }
    FailureReason::Connect
}

#[cfg(test)]
mod tests;
