//! One connection, from its acceptance to its end.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::ServiceExt;

use super::http_timer::{HttpTimeouts, HttpTimer, Wait};
use super::proxies::Proxies;
use super::proxy_header;
use super::tls::Tls;
use crate::address::{ClientAddress, Network};
use crate::connection::connection_set::{ConnectionSet, SetEntry};
use crate::connection::live_socket::LiveSocket;
use crate::connection::stream::Stream;
use crate::connection::upgrade::{self, Upgrade};
use crate::context::ConnectionContext;
use crate::http::arriving_body::{ArrivingBody, DRAIN_GRACE};
use crate::http::body::Streamed;
use crate::http::problem::Problem;
use crate::limits::connection_limiter::ConnectionPermit;
use crate::metrics::Refused;

/// Read and write buffers of a connection while it speaks HTTP.
const HTTP_BUFFER_BYTES: usize = 16 * 1024;

/// The header of the last answer of a connection.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// The state that the connections of one listener share.
pub struct ListenerContext {
    pub router: Router,
    pub proxies: Proxies,
    /// `None`: connections are not encrypted.
    pub tls: Option<Arc<Tls>>,
    pub timeouts: HttpTimeouts,
}

/// The permit of a connection while it speaks HTTP.
enum HttpPermit {
    /// Until its first answer.
    Handshake(ConnectionPermit),
    KeepAlive(ConnectionPermit),
}

/// Handles a new connection.
pub(super) struct Acceptor {
    pub context: Arc<ConnectionContext>,
    pub listener_context: Arc<ListenerContext>,
    pub connection_set: Rc<ConnectionSet>,
}

impl Acceptor {
    /// Speaks HTTP. If that ends in an upgrade and a welcome, the socket is returned.
    pub async fn open(
        self,
        mut stream: TcpStream,
        peer: IpAddr,
        mut permit: ConnectionPermit,
    ) -> Option<(SetEntry, LiveSocket)> {
        // Small frames must not wait for each other's acknowledgement; without it the socket is slower, not wrong.
        let _ = stream.set_nodelay(true);
        let Some(connected) = self.unless_draining(self.connected(&mut stream, peer)).await? else {
            self.context.metrics.refused(Refused::ProxyHeader);
            return None;
        };
        // A proxy that names the client of each request carries those of many.
        if !self.listener_context.proxies.forward_requests(connected) && !permit.claim(Network::of(connected)) {
            self.context.metrics.refused(Refused::AddressHandshakes);
            return None;
        }
        let stream = match &self.listener_context.tls {
            None => Stream::Plain(stream),
            Some(tls) => self.unless_draining(self.encrypted(tls, stream)).await??,
        };
        let permit = RefCell::new(HttpPermit::Handshake(permit));
        let upgrade = self.http(stream, connected, &permit).await?;
        let (HttpPermit::Handshake(permit) | HttpPermit::KeepAlive(permit)) = permit.into_inner();
        upgrade.greet(self.context, &self.connection_set, permit).await
    }

    /// `None`: the drain began before that was done, and there is no request yet that could be answered.
    async fn unless_draining<T>(&self, done: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = done => Some(done),
            _ = self.context.stop.draining() => None,
        }
    }

    async fn encrypted(&self, tls: &Tls, stream: TcpStream) -> Option<Stream> {
        let accepted = Box::pin(tls.accept(stream));
        match tokio::time::timeout(self.listener_context.timeouts.handshake, accepted).await {
            Ok(Ok(stream)) => return Some(Stream::Encrypted(Box::new(stream))),
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => {}
        }
        self.context.metrics.refused(Refused::TlsHandshake);
        None
    }

    /// The address of the client; `None` when a proxy did not say.
    async fn connected(&self, stream: &mut TcpStream, peer: IpAddr) -> Option<IpAddr> {
        if !self.listener_context.proxies.announce_clients(peer) {
            return Some(peer);
        }
        let read = Box::pin(proxy_header::read(stream));
        match tokio::time::timeout(self.listener_context.timeouts.handshake, read).await {
            Ok(Ok(client)) => Some(client.unwrap_or(peer)),
            Ok(Err(error)) => {
                tracing::debug!(%error, %peer, "no usable PROXY header from a trusted proxy");
                None
            }
            Err(_) => None,
        }
    }

    async fn http(&self, stream: Stream, connected: IpAddr, permit: &RefCell<HttpPermit>) -> Option<Upgrade> {
        let upgrade = RefCell::new(None);
        let timer = HttpTimer::start(self.listener_context.timeouts);
        let service = service_fn(|request: Request<Incoming>| {
            timer.request();
            async {
                let mut response = self.respond(request, connected, &upgrade).await;
                if upgrade.borrow().is_none() && !self.may_stay(permit, connected) {
                    response.headers_mut().insert(header::CONNECTION, CLOSE);
                }
                let streams = response.extensions().get::<Streamed>().is_some();
                Ok::<_, Infallible>(response.map(|body| if streams { timer.stream(body) } else { timer.answer(body) }))
            }
        });
        let connection = http1::Builder::new()
            // The timer below has one for each phase of a connection.
            .header_read_timeout(None)
            .max_buf_size(HTTP_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let mut expired = pin!(self.expired(&timer));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = expired.as_mut() => return None,
            _ = self.context.stop.draining() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = expired => return None,
                    () = half_a_request(&timer) => return None,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "HTTP connection failed");
        }
        upgrade.take()
    }

    async fn expired(&self, timer: &HttpTimer) {
        if timer.expired().await == Wait::Answer {
            self.context.metrics.refused(Refused::SlowRequest);
        }
    }

    /// Whether the connection may stay for another request. With its first answer it changes its slot among the
    /// handshakes for one among idle connections.
    fn may_stay(&self, permit: &RefCell<HttpPermit>, connected: IpAddr) -> bool {
        if let HttpPermit::KeepAlive(_) = *permit.borrow() {
            return true;
        }
        let of_many = self.listener_context.proxies.forward_requests(connected);
        let network = (!of_many).then(|| Network::of(connected));
        let kept = self.context.limiter.keep_alive(network).map(HttpPermit::KeepAlive);
        kept.map(|kept| permit.replace(kept)).is_some()
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        connected: IpAddr,
        upgrade: &RefCell<Option<Upgrade>>,
    ) -> Response<Body> {
        let client = match self.listener_context.proxies.client(connected, request.headers()) {
            Ok(client) => client,
            Err(unbelievable) => {
                self.context.metrics.refused(Refused::ForwardedHeader);
                tracing::debug!(event = "request_refused", proxy = %connected, cause = %unbelievable, "request refused");
                let problem = Problem::invalid(unbelievable.to_string());
                return problem.with(header::CONNECTION, CLOSE).into_response();
            }
        };
        if request.uri().path() != upgrade::PATH {
            let mut request = request.map(|body| Body::new(ArrivingBody::new(body, self.context.stop.clone())));
            request.extensions_mut().insert(ClientAddress(client));
            let Ok(response) = self.listener_context.router.clone().oneshot(request).await;
            return response;
        }
        upgrade::await_key(&request, &self.context).await;
        let (response, upgraded) = upgrade::respond(request, client, &self.context).await;
        *upgrade.borrow_mut() = upgraded;
        response
    }
}

/// Resolves when a connection that a drain ends still waits for the head of a request.
async fn half_a_request(timer: &HttpTimer) {
    loop {
        tokio::time::sleep(DRAIN_GRACE).await;
        if timer.waits_for() != Wait::Answer {
            return;
        }
    }
}
