//! Accepts connections, and takes each through its TLS handshake.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream as Incoming;
use futures_util::stream::poll_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout_at};

use super::connection::{Connection, Patience, Slot};
use super::metrics::Metrics;
use crate::connection::stream::Stream;
use crate::listener::Tls;

/// Connections at a time; a further one is closed as it is accepted. A caller needs one for all its calls.
const CONNECTIONS_MAX: usize = 1024;
/// Connections that wait to be served: only while the thread is busy.
const WAITING_MAX: usize = 64;
/// After an error such as "too many open files" accepting rests for a moment.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Listens until what it returns is dropped.
pub fn connections(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    patience: Patience,
    metrics: Metrics,
) -> impl Incoming<Item = io::Result<Connection>> {
    let (sender, mut accepted) = mpsc::channel(WAITING_MAX);
    let gone = sender.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = accept(listener, tls, patience, sender, metrics) => {}
            () = gone.closed() => {}
        }
    });
    poll_fn(move |cx| accepted.poll_recv(cx).map(|connection| connection.map(Ok)))
}

async fn accept(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    patience: Patience,
    ready: mpsc::Sender<Connection>,
    metrics: Metrics,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(permit) = slots.clone().try_acquire_owned() else {
                    metrics.refused.inc();
                    continue;
                };
                let slot = Slot::new(permit, metrics.connections.clone(), metrics.refused.clone());
                let until = Instant::now() + patience.handshake;
                let (tls, ready, refused) = (tls.clone(), ready.clone(), metrics.refused.clone());
                tokio::spawn(async move {
                    match encrypted(stream, tls.as_deref(), until).await {
                        // It is closed if nothing is served any more.
                        Some(stream) => {
                            drop(ready.send(Connection::new(stream, slot, until, patience.idle)).await);
                        }
                        None => drop(refused.inc()),
                    }
                });
            }
            Err(error) => {
                tracing::warn!(event = "accept_failed", %error, "cannot accept connections; retrying");
                sleep(ACCEPT_REST).await;
            }
        }
    }
}

async fn encrypted(stream: TcpStream, tls: Option<&Tls>, until: Instant) -> Option<Stream> {
    // Small frames must not wait for each other's acknowledgement; without it calls are slower, not wrong.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return Some(Stream::Plain(stream)) };
    match timeout_at(until, Box::pin(tls.accept(stream))).await {
        Ok(Ok(stream)) => Some(Stream::Encrypted(Box::new(stream))),
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}
