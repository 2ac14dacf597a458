//! The permits of a listener: a bounded number of connections, of which one makes room when all permits are taken.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::yield_now;

/// A connection without a request gives its permit away to a new one, beginning with the one that has waited longest. A
/// connection with a request keeps its permit until the answer is sent.
#[derive(Clone)]
pub struct Permits {
    free: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Connections whose request has not come yet.
#[derive(Default)]
struct Waiting {
    /// By their numbers, so that the first has waited longest.
    connections: BTreeMap<u64, oneshot::Sender<()>>,
    next: u64,
}

/// One permit, taken until it is dropped.
pub struct Permit {
    number: u64,
    permits: Permits,
    _permit: OwnedSemaphorePermit,
}

/// Resolves when the permit is needed for another connection.
pub struct Eviction(oneshot::Receiver<()>);

impl Permits {
    pub fn new(count: usize) -> Self {
        Permits { free: Arc::new(Semaphore::new(count)), waiting: Arc::default() }
    }

    /// For a connection that has just come; `None` if every permit has a request in progress.
    pub async fn take(&self) -> Option<(Permit, Eviction)> {
        let permit = match self.free.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // Requests that have arrived by now are read first.
                yield_now().await;
                if self.free.available_permits() == 0 {
                    let (_, longest) = self.waiting().connections.pop_first()?;
                    // It may have gone by itself.
                    let _ = longest.send(());
                }
                self.free.clone().acquire_owned().await.ok()?
            }
        };
        let (evict, evicted) = oneshot::channel();
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(number, evict);
        Some((Permit { number, permits: self.clone(), _permit: permit }, Eviction(evicted)))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that could panic runs under the lock.
        self.waiting.lock()
    }
}

impl Permit {
    /// Keeps the permit until the answer is sent, since the request has come. False if it was given away before.
    pub fn keep(&self) -> bool {
        self.permits.waiting().connections.remove(&self.number).is_some()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.keep();
    }
}

impl Eviction {
    /// Resolves at the eviction; never, once the permit is kept.
    pub async fn happens(self) {
        if self.0.await.is_err() {
            pending().await
        }
    }
}
