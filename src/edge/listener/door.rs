//! One connection, from its acceptance to its end.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower::ServiceExt;

use super::proxies::Proxies;
use super::proxy_header;
use super::room::Place;
use super::tls::Tls;
use crate::edge::address::Network;
use crate::edge::connection::live_socket::LiveSocket;
use crate::edge::connection::roster::{Roster, Seat};
use crate::edge::connection::stream::Stream;
use crate::edge::connection::upgrade::{self, Upgrade};
use crate::edge::desk::Desk;
use crate::edge::http::problem::Problem;
use crate::edge::metrics::Refused;

/// Read and write buffers of a connection while it speaks HTTP.
const HTTP_BUFFER_BYTES: usize = 16 * 1024;

/// What the connections of one listener have in common.
pub struct Entrance {
    pub router: Router,
    pub proxies: Proxies,
    /// `None`: connections are not encrypted.
    pub tls: Option<Arc<Tls>>,
    /// From the accepted connection, or the end of a request, to the next request.
    pub handshake_timeout: Duration,
    /// From the head of a request to the end of its answer.
    pub request_timeout: Duration,
}

/// What a new connection needs.
pub(super) struct Door {
    pub desk: Arc<Desk>,
    pub entrance: Arc<Entrance>,
    pub roster: Rc<Roster>,
}

impl Door {
    /// Speaks HTTP. If that ends in an upgrade and a welcome, the socket is returned.
    pub async fn open(self, mut stream: TcpStream, peer: IpAddr, mut place: Place) -> Option<(Seat, LiveSocket)> {
        // Small frames must not wait for each other's acknowledgement; without it the socket is slower, not wrong.
        let _ = stream.set_nodelay(true);
        let Some(connected) = self.connected(&mut stream, peer).await else {
            self.desk.metrics.refused(Refused::ProxyHeader);
            return None;
        };
        // A proxy that names the client of each request carries those of many.
        if !self.entrance.proxies.forward_requests(connected) && !place.claim(Network::of(connected)) {
            self.desk.metrics.refused(Refused::AddressHandshakes);
            return None;
        }
        let stream = match &self.entrance.tls {
            None => Stream::Plain(stream),
            Some(tls) => self.encrypted(tls, stream).await?,
        };
        let upgrade = self.http(stream, connected).await?;
        upgrade.greet(self.desk, &self.roster, place).await
    }

    async fn encrypted(&self, tls: &Tls, stream: TcpStream) -> Option<Stream> {
        let accepted = Box::pin(tls.accept(stream));
        match tokio::time::timeout(self.entrance.handshake_timeout, accepted).await {
            Ok(Ok(stream)) => return Some(Stream::Encrypted(Box::new(stream))),
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => {}
        }
        self.desk.metrics.refused(Refused::TlsHandshake);
        None
    }

    /// Whose connection it is; `None` when a proxy did not say so.
    async fn connected(&self, stream: &mut TcpStream, peer: IpAddr) -> Option<IpAddr> {
        if !self.entrance.proxies.announce_clients(peer) {
            return Some(peer);
        }
        let read = Box::pin(proxy_header::read(stream));
        match tokio::time::timeout(self.entrance.handshake_timeout, read).await {
            Ok(Ok(client)) => Some(client.unwrap_or(peer)),
            Ok(Err(error)) => {
                tracing::debug!(%error, %peer, "a proxy did not say whose connection it is");
                None
            }
            Err(_) => None,
        }
    }

    async fn http(&self, stream: Stream, connected: IpAddr) -> Option<Upgrade> {
        let upgrade = RefCell::new(None);
        let asked = Cell::new(Instant::now());
        let service = service_fn(|request: Request<Incoming>| {
            asked.set(Instant::now());
            async { Ok::<_, Infallible>(self.respond(request, connected, &upgrade).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.entrance.handshake_timeout)
            .max_buf_size(HTTP_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let mut too_slow = pin!(self.too_slow(&asked));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = too_slow.as_mut() => return None,
            _ = self.desk.stop.draining() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = too_slow => return None,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "an HTTP connection broke");
        }
        upgrade.take()
    }

    /// Resolves when a request has taken too long, be it that its body comes slowly or that its answer is not read.
    ///
    /// A connection without a request ends after the header timeout, so one that is still there so long after its last
    /// request is still busy with it.
    async fn too_slow(&self, asked: &Cell<Instant>) {
        let limit = self.entrance.request_timeout + self.entrance.handshake_timeout;
        loop {
            let until = asked.get() + limit;
            if until <= Instant::now() {
                return self.desk.metrics.refused(Refused::SlowRequest);
            }
            tokio::time::sleep_until(until).await;
        }
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        connected: IpAddr,
        upgrade: &RefCell<Option<Upgrade>>,
    ) -> Response<Body> {
        let client = match self.entrance.proxies.client(connected, request.headers()) {
            Ok(client) => client,
            Err(unbelievable) => {
                self.desk.metrics.refused(Refused::ForwardedHeader);
                let problem = Problem::invalid(unbelievable.to_string());
                return problem.with(header::CONNECTION, HeaderValue::from_static("close")).into_response();
            }
        };
        if request.uri().path() != upgrade::PATH {
            let Ok(response) = self.entrance.router.clone().oneshot(request.map(Body::new)).await;
            return response;
        }
        let (response, upgraded) = upgrade::respond(request, Network::of(client), &self.desk);
        *upgrade.borrow_mut() = upgraded;
        response
    }
}
