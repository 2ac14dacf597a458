//! Fetches small documents: by the names and roots of the system, at any address.

use std::net::IpAddr;
use std::path::Path;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::lookup_host;
use tokio_rustls::TlsConnector;
use tower::Service;

use super::connector::{connect, secure};
use super::stream::Stream;
use super::tls::{self, NoRoots};
use super::{USER_AGENT, chain};
use model::subscribers::{EndpointHost, EndpointUrl, FailureReason};

/// Redirects that are followed, all on the same host.
const REDIRECTS_MAX: usize = 3;

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub text: String,
    /// `max-age` of `Cache-Control`.
    pub max_age: Option<Duration>,
}

/// Why there is none. It names neither an address nor what came.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    Connection(String),
    #[error("it answered {0}")]
    Status(StatusCode),
    #[error("it redirects to another host, or too often")]
    Redirect,
    #[error("its answer is longer than {0} bytes")]
    Length(usize),
    #[error("its answer broke off")]
    Broken,
    #[error("its answer is not UTF-8")]
    Text,
}

/// The time limit is the caller's.
#[derive(Clone)]
pub struct Fetcher {
    client: Client<Dialer, Empty<Bytes>>,
    bytes_max: usize,
}

#[derive(Clone)]
struct Dialer(TlsConnector);

impl Fetcher {
    /// `ca`: a file of certificates that are trusted beside those of the system, if it is not empty; `setting`: where it
    /// is configured.
    pub fn new(ca: &Path, setting: &'static str, bytes_max: usize) -> Result<Self, NoRoots> {
        // A document is asked for now and then: no connection is kept.
        let dialer = Dialer(tls::client(ca, setting)?);
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(dialer);
        Ok(Fetcher { client, bytes_max })
    }

    pub async fn get(&self, url: &EndpointUrl) -> Result<Fetched, FetchError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.ask(&url).await?;
            match response.status() {
                StatusCode::OK => return self.read(response).await,
                status if status.is_redirection() => {
                    url = redirected(&url, response.headers()).ok_or(FetchError::Redirect)?
                }
                status => return Err(FetchError::Status(status)),
            }
        }
        Err(FetchError::Redirect)
    }

    async fn ask(&self, url: &EndpointUrl) -> Result<Response<Incoming>, FetchError> {
        let request = Request::get(url.as_str())
            .header(header::HOST, url.authority())
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::ACCEPT, "application/json")
            .body(Empty::new())
            .map_err(|error| FetchError::Connection(error.to_string()))?;
        self.client.request(request).await.map_err(|error| FetchError::Connection(chain(&error)))
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Fetched, FetchError> {
        let max_age = max_age(response.headers());
        let body = Limited::new(response.into_body(), self.bytes_max).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => FetchError::Length(self.bytes_max),
            false => FetchError::Broken,
        })?;
        let text = String::from_utf8(body.to_bytes().into()).map_err(|_| FetchError::Text)?;
        Ok(Fetched { text, max_age })
    }
}

impl Service<Uri> for Dialer {
    type Response = Stream;
    type Error = FetchError;
    type Future = BoxFuture<'static, Result<Stream, FetchError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), FetchError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let tls = self.0.clone();
        Box::pin(async move { dial(&tls, &uri).await })
    }
}

async fn dial(tls: &TlsConnector, uri: &Uri) -> Result<Stream, FetchError> {
    let failed = |why: &str| FetchError::Connection(why.to_owned());
    let url: EndpointUrl = uri.to_string().parse().map_err(|_| failed("it is no URL"))?;
    let addresses: Vec<IpAddr> = match url.host() {
        EndpointHost::Address(address) => vec![address],
        EndpointHost::Name(name) => {
            let found = lookup_host((name, url.port())).await;
            found.map_err(|_| failed("its name cannot be resolved"))?.map(|address| address.ip()).collect()
        }
    };
    let stream = connect(&addresses, url.port()).await.map_err(|reason| failed(reason_text(reason)))?;
    secure(tls, &url, stream).await.map_err(|reason| failed(reason_text(reason)))
}

fn reason_text(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::Tls => "no TLS: its certificate is not trusted, or it speaks none",
        FailureReason::Timeout => "it does not answer",
        _ => "no connection",
    }
}

/// Where an answer sends to, if that is on the same host.
fn redirected(from: &EndpointUrl, headers: &HeaderMap) -> Option<EndpointUrl> {
    let to = from.join(headers.get(header::LOCATION)?.to_str().ok()?)?;
    (to.is_https() == from.is_https() && to.authority() == from.authority()).then_some(to)
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let mut words = lines.flat_map(|line| line.split(','));
    words.find_map(|word| {
        let (name, seconds) = word.split_once('=')?;
        let is_max_age = name.trim().eq_ignore_ascii_case("max-age");
        is_max_age.then(|| seconds.trim().trim_matches('"').parse().ok().map(Duration::from_secs)).flatten()
    })
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
