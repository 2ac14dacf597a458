//! Threads that read, so that no other thread waits for the disk.
//!
//! They take questions from one queue, from each asker in turn; when it is full, a question is not taken. A long
//! question is answered in slices, and goes to the end of the queue after each. One that is no longer waited for is
//! dropped.

use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::fair_queue::FairQueue;
use storage::store_error::StoreError;

type Question<S> = Box<dyn FnMut(&S) -> Progress + Send>;

/// Whether a question has another slice to read.
#[derive(PartialEq, Eq)]
enum Progress {
    Answered,
    Unfinished,
}

/// The threads, which end when this is dropped. `S` is what they read from.
pub struct Readers<S, Asker> {
    queue: Arc<Queue<S, Asker>>,
    queue_max: usize,
    threads: Vec<JoinHandle<()>>,
}

struct Queue<S, Asker> {
    state: Mutex<State<S, Asker>>,
    /// A question was added, or the threads are to end.
    changed: Condvar,
}

struct State<S, Asker> {
    questions: FairQueue<Asker, Question<S>>,
    closing: bool,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    #[error("too many reads queued")]
    QueueFull,
    #[error("store is closing")]
    Closing,
    /// The reading has panicked.
    #[error("read aborted")]
    GivenUp,
}

impl From<ReaderError> for StoreError {
    fn from(error: ReaderError) -> Self {
        match error {
            ReaderError::QueueFull => StoreError::Busy(error.to_string()),
            ReaderError::Closing | ReaderError::GivenUp => StoreError::Away(error.to_string()),
        }
    }
}

impl<S, Asker> Readers<S, Asker>
where
    S: Clone + Send + 'static,
    Asker: Copy + Eq + Hash + Send + 'static,
{
    /// `names`: of the threads, one each. `queue_max`: questions that may wait.
    pub fn start(names: &[&str], source: &S, queue_max: usize) -> std::io::Result<Self> {
        let state = Mutex::new(State { questions: FairQueue::new(), closing: false });
        let queue = Arc::new(Queue { state, changed: Condvar::new() });
        // Dropped on an error, it ends the threads that have started.
        let mut readers = Readers { queue, queue_max, threads: Vec::new() };
        for name in names {
            let (source, queue) = (source.clone(), readers.queue.clone());
            let thread = thread::Builder::new().name((*name).to_owned()).spawn(move || queue.answer_all(&source))?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// A question that is answered at once.
    pub fn ask<T: Send + 'static>(&self, asker: Asker, read: impl FnOnce(&S) -> T + Send + 'static) -> PendingRead<T> {
        let mut read = Some(read);
        self.ask_in_slices(asker, move |source| read.take().map(|read| read(source)))
    }

    /// A question of which each call of `read` answers a slice; the one that answers the last has the answer.
    pub fn ask_in_slices<T: Send + 'static>(
        &self,
        asker: Asker,
        mut read: impl FnMut(&S) -> Option<T> + Send + 'static,
    ) -> PendingRead<T> {
        let (answer, answered) = oneshot::channel();
        let mut answer = Some(answer);
        let question: Question<S> = Box::new(move |source| {
            if answer.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return Progress::Answered;
            }
            let Some(found) = read(source) else { return Progress::Unfinished };
            let _ = answer.take().map(|answer| answer.send(found));
            Progress::Answered
        });
        let mut state = self.queue.state();
        if state.closing {
            return PendingRead(Err(ReaderError::Closing));
        }
        if state.questions.len() >= self.queue_max {
            return PendingRead(Err(ReaderError::QueueFull));
        }
        state.questions.push(asker, question);
        drop(state);
        self.queue.changed.notify_one();
        PendingRead(Ok(answered))
    }
}

/// A question in the queue. It is not answered if this is dropped.
#[must_use]
pub struct PendingRead<T>(Result<oneshot::Receiver<T>, ReaderError>);

impl<T> PendingRead<T> {
    pub async fn answer(self) -> Result<T, ReaderError> {
        self.0?.await.map_err(|_| ReaderError::GivenUp)
    }
}

impl<S, Asker> Drop for Readers<S, Asker> {
    fn drop(&mut self) {
        self.queue.state().closing = true;
        self.queue.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl<S, Asker> Queue<S, Asker> {
    fn state(&self) -> MutexGuard<'_, State<S, Asker>> {
        self.state.lock()
    }
}

impl<S, Asker: Copy + Eq + Hash> Queue<S, Asker> {
    /// Until the threads are to end and nothing waits.
    fn answer_all(&self, source: &S) {
        while let Some((asker, mut question)) = self.next() {
            // A panic has been reported by the panic hook; the caller is told that the read was given up.
            let progress = catch_unwind(AssertUnwindSafe(|| question(source)));
            if matches!(progress, Ok(Progress::Unfinished)) {
                // It was counted when it was asked: one for each thread may come above the bound.
                self.state().questions.push(asker, question);
                self.changed.notify_one();
            }
        }
    }

    fn next(&self) -> Option<(Asker, Question<S>)> {
        let mut state = self.state();
        loop {
            match state.questions.pop() {
                None if !state.closing => {
                    self.changed.wait(&mut state);
                }
                next => return next,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    const LISTER: u64 = 1;
    const OTHER: u64 = 2;

    fn wait<T>(asked: PendingRead<T>) -> Result<T, ReaderError> {
        asked.0?.blocking_recv().map_err(|_| ReaderError::GivenUp)
    }

    #[test]
    fn other_questions_are_answered_between_the_slices_of_a_long_one() {
        let readers = Readers::start(&["reader"], &(), 8).expect("a thread");
        let (reached, first_slice) = sync_channel(1);
        let (go_on, may_go_on) = sync_channel(1);
        let (mut slices, order) = (0, Arc::new(Mutex::new(Vec::new())));
        let seen = order.clone();
        let long = readers.ask_in_slices(LISTER, move |()| {
            slices += 1;
            if slices == 1 {
                let _ = reached.send(());
                let _ = may_go_on.recv();
            }
            seen.lock().push("slice");
            (slices == 3).then_some("list")
        });
        first_slice.recv().expect("a slice");
        let seen = order.clone();
        let short = readers.ask(OTHER, move |()| seen.lock().push("get"));
        go_on.send(()).expect("a reader");
        assert_eq!(wait(long).expect("an answer"), "list");
        wait(short).expect("an answer");
        assert_eq!(*order.lock(), ["slice", "get", "slice", "slice"]);
    }

    #[test]
    fn an_abandoned_long_question_ends_after_its_slice() {
        let readers = Readers::start(&["reader"], &(), 8).expect("a thread");
        let (reached, slice) = sync_channel(8);
        let (go_on, may_go_on) = sync_channel::<()>(0);
        let long = readers.ask_in_slices(LISTER, move |()| {
            let _ = reached.send(());
            let _ = may_go_on.recv();
            None::<()>
        });
        slice.recv().expect("a slice");
        drop(long);
        go_on.send(()).expect("a reader");
        wait(readers.ask(LISTER, |()| ())).expect("an answer");
        assert!(slice.recv().is_err(), "another slice was read");
    }

    #[test]
    fn a_full_queue_takes_no_question() {
        let readers = Readers::start(&["reader"], &(), 1).expect("a thread");
        let (reached, busy) = sync_channel(1);
        let (go_on, may_go_on) = sync_channel::<()>(0);
        let first = readers.ask(LISTER, move |()| {
            let _ = reached.send(());
            let _ = may_go_on.recv();
        });
        busy.recv().expect("a question");
        let second = readers.ask(LISTER, |()| ());
        let third = readers.ask(OTHER, |()| ());
        assert!(matches!(wait(third), Err(ReaderError::QueueFull)));
        go_on.send(()).expect("a reader");
        wait(first).expect("an answer");
        wait(second).expect("an answer");
    }

    #[test]
    fn a_question_that_panics_is_given_up_and_the_next_is_answered() {
        let readers = Readers::start(&["reader"], &(), 8).expect("a thread");
        let panics = readers.ask(LISTER, |()| panic!("as the test wants it"));
        assert!(matches!(wait(panics), Err(ReaderError::GivenUp)));
        wait(readers.ask(LISTER, |()| ())).expect("an answer");
    }
}
