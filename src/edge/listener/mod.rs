//! The public listener: accepts on every thread, and hands each request to a socket or to HTTP.
//!
//! ```text
//! accept ─▶ room ─▶ acceptor: proxy_header ─▶ tls ─▶ HTTP ─▶ forwarded ─▶ upgrade, or the router
//! ```
//!
//! [`proxies`] says which peers may name a client's address, [`connection_limiter`](super::limits::connection_limiter)
//! how many there may be.

mod acceptor;
mod forwarded;
mod http_timer;
mod proxies;
mod proxy_header;
mod tls;
mod validity;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use super::connection::connection_set::{ConnectionSet, SetEntry};
use super::connection::live_socket::LiveSocket;
use super::connection::scratch_buffers::ScratchBuffers;
use super::context::ConnectionContext;
use super::metrics::Refused;
use acceptor::Acceptor;

pub use acceptor::ListenerContext;
pub use http_timer::HttpTimeouts;
pub use proxies::Proxies;
pub use tls::{Tls, TlsError, install_crypto_provider};
pub use validity::Validity;

/// Connections that the kernel keeps for us until they are accepted.
const BACKLOG: i32 = 4096;
/// After an error such as "too many open files" accepting rests for a moment.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// A wrong clock sends sockets away as a drain of this length does.
const OUT_OF_TIME: Duration = Duration::from_secs(10);

/// One listener per thread on one address; the kernel spreads connections over them.
///
/// The first is bound alone and without sharing, so that a port that is taken is an error and not silently
/// shared.
pub fn bind(address: SocketAddr, count: usize) -> io::Result<Vec<StdListener>> {
    let exclusive = socket(address, false)?;
    let address = exclusive.local_addr()?.as_socket().unwrap_or(address);
    drop(exclusive);
    (0..count).map(|_| socket(address, true).map(StdListener::from)).collect()
}

/// A listener for one thread.
pub fn bind_one(address: SocketAddr) -> io::Result<StdListener> {
    socket(address, false).map(StdListener::from)
}

/// Whether the address could be listened on. Nothing listens meanwhile.
pub fn try_bind(address: SocketAddr) -> io::Result<()> {
    bound(address, false).map(drop)
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = bound(address, shared)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Accepts on this thread until the drain, then waits until all that was accepted has ended. To be called where local
/// tasks may be spawned.
pub async fn serve(listener: TcpListener, context: Arc<ConnectionContext>, listener_context: ListenerContext) {
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let listener_context = Arc::new(listener_context);
    let connection_set =
        ConnectionSet::new(ScratchBuffers::new(&context.limits, &context.socket, context.metrics.clone()));
    let attendant = spawn_local(connection_set.clone().attend());
    let mut draining = Box::pin(context.stop.draining());
    let mut clock_status = context.clock_status.clone();
    let mut off = false;
    let until = loop {
        let accepted = tokio::select! {
            until = &mut draining => break until,
            () = clock_status.changed(off) => {
                off = !off;
                // New connections are refused at the upgrade, and some may have been upgraded just before.
                connection_set.leave_before(off.then(|| Instant::now() + OUT_OF_TIME));
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Open connections go before new ones: over the limit a new connection is closed at once.
                let Some(permit) = context.limiter.begin_handshake() else {
                    context.metrics.refused(Refused::Handshakes);
                    continue;
                };
                let acceptor = Acceptor {
                    context: context.clone(),
                    listener_context: listener_context.clone(),
                    connection_set: connection_set.clone(),
                };
                let alive = alive.clone();
                spawn_local(async move {
                    let socket = Box::pin(acceptor.open(stream, peer.ip().to_canonical(), permit)).await;
                    if let Some((set_entry, live)) = socket {
                        // A task of its own, so that nothing of this one is kept for as long as the socket lives.
                        spawn_local(serve_socket(set_entry, live, alive));
                    }
                });
            }
            Err(error) => {
                tracing::warn!(event = "accept_failed", %error, "cannot accept connections; retrying");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    };
    drop(listener);
    connection_set.leave_before(Some(until.into()));
    drop(alive);
    // Nothing is ever sent; the channel ends with its last sender.
    all_gone.recv().await;
    attendant.abort();
}

fn serve_socket(set_entry: SetEntry, live: LiveSocket, alive: mpsc::Sender<Infallible>) -> impl Future<Output = ()> {
    let served = set_entry.serve(live);
    async move {
        served.await;
        drop(alive);
    }
}
