//! A thread that writes what requests ask for: all that wait together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use futures_util::future::BoxFuture;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use storage::store_error::StoreError;

/// Requests that wait, some 150 bytes each. Any further request is answered [`StoreError::Busy`] at once.
const QUEUE_MAX: usize = 65_536;
/// Requests that are written together.
const BATCH_MAX: usize = 8_192;

pub type Answered<T> = oneshot::Sender<Result<T, StoreError>>;

/// The writing thread. When this is dropped, it answers all waiting requests and ends.
pub struct WriteQueue<R> {
    queue: Arc<Queue<R>>,
    /// The name of its requests in messages.
    what: &'static str,
    thread: Option<JoinHandle<()>>,
}

struct Queue<R> {
    state: Mutex<State<R>>,
    /// A request was added, or the thread is to end.
    changed: Condvar,
}

struct State<R> {
    requests: VecDeque<R>,
    closing: bool,
}

impl<R: Send + 'static> WriteQueue<R> {
    /// `write`: writes these requests, at most [`BATCH_MAX`], and answers them. `what`: what they are called.
    pub fn start(
        thread: &str,
        what: &'static str,
        mut write: impl FnMut(Vec<R>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let state = Mutex::new(State { requests: VecDeque::new(), closing: false });
        let queue = Arc::new(Queue { state, changed: Condvar::new() });
        let own = queue.clone();
        let write_all = move || {
            while let Some(requests) = own.next() {
                write(requests);
            }
        };
        let thread = thread::Builder::new().name(thread.into()).spawn(write_all)?;
        Ok(WriteQueue { queue, what, thread: Some(thread) })
    }

    /// Queues a request; the answer comes after the commit. `request` makes the request, given the sender of the
    /// answer.
    pub fn ask<T, E>(&self, request: impl FnOnce(Answered<T>) -> R) -> BoxFuture<'static, Result<T, E>>
    where
        T: Send + 'static,
        E: From<StoreError>,
    {
        let (answer, answered) = oneshot::channel();
        let asked = self.add(request(answer));
        Box::pin(async move {
            asked?;
            Ok(answered.await.unwrap_or_else(|_| Err(StoreError::Away("store is closing".to_owned())))?)
        })
    }

    fn add(&self, request: R) -> Result<(), StoreError> {
        let mut state = self.queue.state.lock();
        if state.requests.len() >= QUEUE_MAX {
            return Err(StoreError::Busy(format!("too many {} queued", self.what)));
        }
        state.requests.push_back(request);
        // While the thread is at work it looks again by itself.
        let first = state.requests.len() == 1;
        drop(state);
        if first {
            self.queue.changed.notify_one();
        }
        Ok(())
    }
}

impl<R> Drop for WriteQueue<R> {
    fn drop(&mut self) {
        self.queue.state.lock().closing = true;
        self.queue.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<R> Queue<R> {
    /// The oldest requests, at most [`BATCH_MAX`]. `None`: the thread is to end.
    fn next(&self) -> Option<Vec<R>> {
        let mut state = self.state.lock();
        while state.requests.is_empty() {
            if state.closing {
                return None;
            }
            self.changed.wait(&mut state);
        }
        let count = state.requests.len().min(BATCH_MAX);
        Some(state.requests.drain(..count).collect())
    }
}
