//! The threads that read.
//!
//! [`READERS`] of them take questions from one queue of at most [`QUEUE_MAX`]; when it is full, a question is answered
//! [`StoreError::Away`] at once. A question nobody waits for any more is not looked up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::tables::{ReadError, Tables, View};
use crate::model::forgetting::{ContentRow, UserRow};
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::storage::hot_store::{Answer, StoreError};

const READERS: usize = 2;
/// Questions that wait, some 150 bytes each. Everybody who connects asks one.
pub const QUEUE_MAX: usize = 16_384;

type Question = Box<dyn FnOnce(&Tables) + Send>;

pub struct Readers {
    queue: Option<SyncSender<Question>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub fn start(tables: &Tables) -> std::io::Result<Self> {
        let (queue, questions) = sync_channel(QUEUE_MAX);
        let questions = Arc::new(Mutex::new(questions));
        let thread = |number| {
            let (tables, questions) = (tables.clone(), questions.clone());
            let name = format!("store-read-{number}");
            thread::Builder::new().name(name).spawn(move || answer_all(&tables, &questions))
        };
        let threads = (0..READERS).map(thread).collect::<Result<_, _>>()?;
        Ok(Readers { queue: Some(queue), threads })
    }

    pub fn ask<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> Answer<T> {
        let (answer, answered) = oneshot::channel();
        let question: Question = Box::new(move |tables| {
            if !answer.is_closed() {
                let _ = answer.send(read(&tables.view()));
            }
        });
        let queued = self.queue.as_ref().map(|queue| queue.try_send(question));
        Box::pin(async move {
            match queued {
                Some(Ok(())) => {}
                Some(Err(TrySendError::Full(_))) => return Err(away("too many reads wait")),
                Some(Err(TrySendError::Disconnected(_))) | None => return Err(away("it is being closed")),
            }
            match answered.await {
                // Writing may go on, and so may other reads.
                Ok(answer) => answer.map_err(|error| StoreError::Away(error.to_string())),
                Err(_) => Err(away("the read was given up")),
            }
        })
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn away(why: &str) -> StoreError {
    StoreError::Away(why.to_owned())
}

fn answer_all(tables: &Tables, questions: &Mutex<Receiver<Question>>) {
    loop {
        // Whoever holds the lock waits for the next question; the other one answers, or waits for the lock.
        let next = questions.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(question) = next else { return };
        // A panic has been reported by the panic hook; whoever asked is told that the read was given up.
        let _ = catch_unwind(AssertUnwindSafe(|| question(tables)));
    }
}

pub fn get(view: &View, user: UserId, contents: &[Content], horizon: u64) -> Result<Vec<Option<Record>>, ReadError> {
    let user_row = view.user(user)?;
    let record = |content: &Content| {
        let row = view.content(user, *content)?;
        Ok(row.and_then(|row| live(row, &user_row, horizon)))
    };
    contents.iter().map(record).collect()
}

pub fn list(view: &View, user: UserId, request: &PageRequest, horizon: u64) -> Result<Page, ReadError> {
    let user_row = view.user(user)?;
    let mut wanted = Vec::new();
    for row in view.contents_of(user) {
        let (_, row) = row?;
        wanted.extend(live(row, &user_row, horizon).filter(|record| request.wants(record)));
    }
    Ok(request.cut(wanted))
}

fn live(row: ContentRow, user: &UserRow, horizon: u64) -> Option<Record> {
    row.live(user, horizon).is_some().then_some(row.record).flatten()
}
