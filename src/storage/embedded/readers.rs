//! Threads that read, so that nobody else waits for the disk.
//!
//! They take questions from one queue; when it is full, a question is not taken. A question nobody waits for any more is
//! not looked up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

type Question<S> = Box<dyn FnOnce(&S) + Send>;

/// The threads, which end when this is dropped. `S` is what they read from.
pub struct Readers<S> {
    queue: Option<SyncSender<Question<S>>>,
    threads: Vec<JoinHandle<()>>,
}

/// A question without an answer.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    #[error("too many reads wait")]
    QueueFull,
    #[error("it is being closed")]
    Closing,
    /// The reading has panicked.
    #[error("the read was given up")]
    GivenUp,
}

impl<S: Clone + Send + 'static> Readers<S> {
    /// `names`: of the threads, one each. `queue_max`: questions that may wait.
    pub fn start(names: &[&str], source: &S, queue_max: usize) -> std::io::Result<Self> {
        let (queue, questions) = sync_channel(queue_max);
        let questions = Arc::new(Mutex::new(questions));
        let thread = |name: &&str| {
            let (source, questions) = (source.clone(), questions.clone());
            thread::Builder::new().name((*name).to_owned()).spawn(move || answer_all(&source, &questions))
        };
        let threads = names.iter().map(thread).collect::<Result<_, _>>()?;
        Ok(Readers { queue: Some(queue), threads })
    }

    pub fn ask<T: Send + 'static>(&self, read: impl FnOnce(&S) -> T + Send + 'static) -> Asked<T> {
        let (answer, answered) = oneshot::channel();
        let question: Question<S> = Box::new(move |source| {
            if !answer.is_closed() {
                let _ = answer.send(read(source));
            }
        });
        Asked(match self.queue.as_ref().map(|queue| queue.try_send(question)) {
            Some(Ok(())) => Ok(answered),
            Some(Err(TrySendError::Full(_))) => Err(Unread::QueueFull),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(Unread::Closing),
        })
    }
}

/// A question that was asked. Dropped, it is forgotten.
#[must_use]
pub struct Asked<T>(Result<oneshot::Receiver<T>, Unread>);

impl<T> Asked<T> {
    pub async fn answer(self) -> Result<T, Unread> {
        self.0?.await.map_err(|_| Unread::GivenUp)
    }
}

impl<S> Drop for Readers<S> {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn answer_all<S>(source: &S, questions: &Mutex<Receiver<Question<S>>>) {
    loop {
        // Whoever holds the lock waits for the next question; the other one answers, or waits for the lock.
        let next = questions.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(question) = next else { return };
        // A panic has been reported by the panic hook; whoever asked is told that the read was given up.
        let _ = catch_unwind(AssertUnwindSafe(|| question(source)));
    }
}
