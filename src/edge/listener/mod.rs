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
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use super::connection::live_socket::LiveSocket;
use super::connection::roster::{Roster, Seat};
use super::connection::workbench::Workbench;
use super::desk::Desk;
use super::metrics::Refused;
use door::Door;

pub use door::Entrance;
pub use proxies::Proxies;
pub use tls::{Tls, TlsError};

/// Connections that the kernel keeps for us until they are accepted.
const BACKLOG: i32 = 4096;
/// After an error such as "too many open files" accepting rests for a moment.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// A wrong clock sends sockets away as a drain of this length does.
const OUT_OF_TIME: Duration = Duration::from_secs(10);

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

/// Accepts on this thread until the drain, then waits until all that was accepted has ended. To be called where local
/// tasks may be spawned.
pub async fn serve(listener: TcpListener, desk: Arc<Desk>, entrance: Entrance) {
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let entrance = Arc::new(entrance);
    let roster = Roster::new(Workbench::new(&desk.limits, &desk.socket, desk.metrics.clone()));
    let attendant = spawn_local(roster.clone().attend());
    let mut draining = Box::pin(desk.stop.draining());
    let mut timekeeping = desk.timekeeping.clone();
    let mut off = false;
    let until = loop {
        let accepted = tokio::select! {
            until = &mut draining => break until,
            () = timekeeping.changed(off) => {
                off = !off;
                // Those who come are refused at the upgrade, and may have been upgraded just before.
                roster.leave_before(off.then(|| Instant::now() + OUT_OF_TIME));
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Whoever is here already goes before whoever comes: over the bound a connection ends as it begins.
                let Some(place) = desk.room.knock() else {
                    desk.metrics.refused(Refused::Handshakes);
                    continue;
                };
                let door = Door { desk: desk.clone(), entrance: entrance.clone(), roster: roster.clone() };
                let alive = alive.clone();
                spawn_local(async move {
                    let socket = Box::pin(door.open(stream, peer.ip().to_canonical(), place)).await;
                    if let Some((seat, live)) = socket {
                        // A task of its own, so that nothing of this one is kept for as long as the socket lives.
                        spawn_local(serve_socket(seat, live, alive));
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    };
    drop(listener);
    roster.leave_before(Some(until.into()));
    drop(alive);
    // Nobody ever sends; the channel ends with its last sender.
    all_gone.recv().await;
    attendant.abort();
}

fn serve_socket(seat: Seat, live: LiveSocket, alive: mpsc::Sender<Infallible>) -> impl Future<Output = ()> {
    let served = seat.serve(live);
    async move {
        served.await;
        drop(alive);
    }
}
