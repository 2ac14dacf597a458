//! The public listener: accepts on every thread, and hands each request to a socket or to HTTP.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tower::ServiceExt;

use super::connection::upgrade::{self, Upgrade};
use super::desk::Desk;

/// Connections that the kernel keeps for us until they are accepted.
const BACKLOG: i32 = 4096;
/// Read and write buffers of a connection while it speaks HTTP.
const HTTP_BUFFER_BYTES: usize = 16 * 1024;
/// After an error such as "too many open files" accepting rests for a moment.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// One listener per thread on one address; the kernel spreads connections over them.
///
/// The first is bound alone and without sharing, so that a port that somebody else has is an error and not silently
/// shared.
pub fn bind(address: SocketAddr, count: usize) -> io::Result<Vec<StdListener>> {
    let exclusive = socket(address, false)?;
    let address = exclusive.local_addr()?.as_socket().unwrap_or(address);
    drop(exclusive);
    (0..count).map(|_| socket(address, true).map(StdListener::from)).collect()
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Accepts on this thread until the drain, then waits until all that was accepted has ended.
pub async fn serve(listener: TcpListener, desk: Arc<Desk>, router: Router, handshake_timeout: Duration) {
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let door = Door { desk: desk.clone(), router, handshake_timeout };
    let mut draining = Box::pin(desk.stop.draining());
    loop {
        let accepted = tokio::select! {
            _ = &mut draining => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (door, alive) = (door.clone(), alive.clone());
                tokio::task::spawn_local(async move {
                    door.serve(stream).await;
                    drop(alive);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
    drop(listener);
    drop(alive);
    // Nobody ever sends; the channel ends with its last sender.
    all_gone.recv().await;
}

/// What a new connection needs.
#[derive(Clone)]
struct Door {
    desk: Arc<Desk>,
    router: Router,
    handshake_timeout: Duration,
}

impl Door {
    /// Speaks HTTP, and if that ends in an upgrade, goes on as a socket: one task either way, and nothing of the first
    /// phase is kept in the second.
    async fn serve(self, stream: TcpStream) {
        // Small frames must not wait for each other's acknowledgement; without it the socket is slower, not wrong.
        let _ = stream.set_nodelay(true);
        if let Some(upgrade) = Box::pin(self.http(stream)).await {
            Box::pin(upgrade.serve(self.desk)).await;
        }
    }

    async fn http(&self, stream: TcpStream) -> Option<Upgrade> {
        let upgrade = RefCell::new(None);
        let service = service_fn(|request: Request<Incoming>| async {
            Ok::<_, Infallible>(self.respond(request, &upgrade).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.handshake_timeout)
            .max_buf_size(HTTP_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            _ = self.desk.stop.draining() => {
                connection.as_mut().graceful_shutdown();
                connection.as_mut().await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "an HTTP connection broke");
        }
        upgrade.take()
    }

    async fn respond(&self, request: Request<Incoming>, upgrade: &RefCell<Option<Upgrade>>) -> Response<Body> {
        if request.uri().path() != upgrade::PATH {
            let Ok(response) = self.router.clone().oneshot(request.map(Body::new)).await;
            return response;
        }
        let (response, upgraded) = upgrade::respond(request, &self.desk);
        *upgrade.borrow_mut() = upgraded;
        response
    }
}
