//! The listeners of operators, each on a thread of its own: neither slows the other, nor anything else.

use std::future::Future;
use std::io;
use std::net::TcpListener as StdListener;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;

use super::spawn::{runtime, spawn};
use edge::operator_server::{self, Bounds};
use edge::shutdown::Stop;
use model::event_page::EventRequest;

/// Health and metrics are made of what is in memory.
pub(super) const PROBES: Bounds =
    Bounds { connections: 1024, head: Duration::from_secs(5), request: Duration::from_secs(10) };
/// A call may wait for events, and then take its time like any other.
pub(super) const CONTROL: Bounds = Bounds {
    connections: 64,
    head: Duration::from_secs(5),
    request: EventRequest::WAIT_MAX.saturating_add(Duration::from_secs(15)),
};

/// Serves `router`, and runs `beside` along with it, until nothing is served any more.
pub(super) fn start(
    name: &str,
    listener: StdListener,
    router: Router,
    bounds: Bounds,
    beside: impl Future<Output = ()> + Send + 'static,
    stop: Stop,
) -> io::Result<JoinHandle<()>> {
    let runtime = runtime()?;
    let listener = {
        let _context = runtime.enter();
        TcpListener::from_std(listener)?
    };
    spawn(name, move || {
        runtime.block_on(async {
            tokio::spawn(beside);
            tokio::select! {
                () = operator_server::serve(listener, router, bounds) => {}
                () = stop.stopped() => {}
            }
        });
        // A call that is still waiting for a disk or for Redis does not hold the end up.
        runtime.shutdown_background();
    })
}
