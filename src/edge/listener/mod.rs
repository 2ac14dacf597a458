//! The public listener: accepts on every thread, and hands each request to a socket or to HTTP.
//!
//! ```text
//! accept ─▶ room ─▶ door: proxy_header ─▶ tls ─▶ HTTP ─▶ forwarded ─▶ upgrade, or the router
//! ```
//!
//! [`proxies`] says whose word counts for a client's address, [`room`] how many there may be.

mod door;
mod forwarded;
mod proxies;
mod proxy_header;
pub mod room;
mod tls;

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::desk::Desk;
use super::metrics::Refused;
use door::Door;

pub use door::Entrance;
pub use proxies::{ForwardedHeader, Proxies};
pub use tls::{Tls, TlsError};

/// Connections that the kernel keeps for us until they are accepted.
const BACKLOG: i32 = 4096;
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
pub async fn serve(listener: TcpListener, desk: Arc<Desk>, entrance: Entrance) {
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let entrance = Arc::new(entrance);
    let mut draining = Box::pin(desk.stop.draining());
    loop {
        let accepted = tokio::select! {
            _ = &mut draining => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Whoever is here already goes before whoever comes: over the bound a connection ends as it begins.
                let Some(place) = desk.room.knock() else {
                    desk.metrics.refused(Refused::Handshakes);
                    continue;
                };
                let door = Door { desk: desk.clone(), entrance: entrance.clone() };
                let alive = alive.clone();
                tokio::task::spawn_local(async move {
                    door.serve(stream, peer.ip().to_canonical(), place).await;
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
