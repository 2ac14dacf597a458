//! Makes connections, to addresses that are allowed only.
//!
//! A name is looked up here, and the address that is connected to is the one that was checked: an answer of DNS that
//! changes later cannot lead elsewhere.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;

use super::resolver;
use super::stream::Stream;
use model::subscribers::{EndpointHost, EndpointRules, EndpointUrl, FailureReason};

/// How long one of several addresses may take.
const ADDRESS_MAX: Duration = Duration::from_secs(3);

#[derive(Clone)]
pub struct Connector(Arc<Dialer>);

struct Dialer {
    rules: EndpointRules,
    resolver: Option<TokioResolver>,
    tls: TlsConnector,
    /// The time limit of a connection attempt, including the DNS look-up. The client continues an attempt even after its
    /// request went out on another connection.
    time_max: Duration,
}

/// Why there is no connection. It does not say where to.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no connection: {0}")]
pub struct Undialed(FailureReason);

impl Undialed {
    pub fn reason(self) -> FailureReason {
        self.0
    }
}

impl Connector {
    pub fn new(rules: EndpointRules, resolver: Option<TokioResolver>, tls: TlsConnector, time_max: Duration) -> Self {
        Connector(Arc::new(Dialer { rules, resolver, tls, time_max }))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Undialed;
    type Future = BoxFuture<'static, Result<Stream, Undialed>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Undialed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = self.0.clone();
        Box::pin(async move {
            let dialed = timeout(dialer.time_max, dialer.dial(&uri)).await;
            dialed.unwrap_or(Err(FailureReason::Timeout)).map_err(Undialed)
        })
    }
}

impl Dialer {
    async fn dial(&self, uri: &Uri) -> Result<Stream, FailureReason> {
        let url: EndpointUrl = uri.to_string().parse().map_err(|_| FailureReason::Connect)?;
        if !url.is_https() && !self.rules.allow_http {
            return Err(FailureReason::Tls);
        }
        let stream = connect(&self.allowed(&url.host()).await?, url.port()).await?;
        secure(&self.tls, &url, stream).await
    }

    /// The addresses of a host that may be connected to, at least one.
    async fn allowed(&self, host: &EndpointHost<'_>) -> Result<Vec<IpAddr>, FailureReason> {
        let addresses = match host {
            EndpointHost::Address(address) => vec![*address],
            EndpointHost::Name(name) => {
                let resolver = self.resolver.as_ref().ok_or(FailureReason::Dns)?;
                resolver::addresses(resolver, name).await.ok_or(FailureReason::Dns)?
            }
        };
        let allowed: Vec<IpAddr> = addresses.into_iter().filter(|address| self.rules.allows(*address)).collect();
        if allowed.is_empty() { Err(FailureReason::RefusedAddress) } else { Ok(allowed) }
    }
}

/// To the first of them that answers.
pub async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, FailureReason> {
    let mut why = FailureReason::Connect;
    for (index, address) in addresses.iter().enumerate() {
        let dialed = TcpStream::connect(SocketAddr::new(*address, port));
        // The last one has all the time that is left.
        let is_last = index + 1 == addresses.len();
        let dialed = if is_last { Ok(dialed.await) } else { timeout(ADDRESS_MAX, dialed).await };
        match dialed {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(_)) => {}
            Err(_) => why = FailureReason::Timeout,
        }
    }
    Err(why)
}

/// A connection for requests to this URL: with TLS if it is https.
pub async fn secure(tls: &TlsConnector, url: &EndpointUrl, stream: TcpStream) -> Result<Stream, FailureReason> {
    // Requests are small, and each waits for its answer.
    let _ = stream.set_nodelay(true);
    if !url.is_https() {
        return Ok(Stream::Plain(TokioIo::new(stream)));
    }
    let name = match url.host() {
        EndpointHost::Name(name) => ServerName::try_from(name.trim_end_matches('.').to_owned()),
        EndpointHost::Address(address) => Ok(ServerName::from(address)),
    };
    let name = name.map_err(|_| FailureReason::Tls)?;
    let stream = tls.connect(name, stream).await.map_err(|_| FailureReason::Tls)?;
    Ok(Stream::Tls(Box::new(TokioIo::new(stream))))
}
