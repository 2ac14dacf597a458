//! Reads, on [`THREADS`] of their own, for each user in turn. When [`QUEUE_MAX`] questions wait, the next is answered
//! [`StoreError::Busy`] at once.

use std::ops::Bound;

use super::list::List;
use super::tables::{ReadError, Tables, View};
use super::users::Users;
use crate::readers::{self, PendingRead};
use model::ids::{Content, UserId};
use model::page::Page;
use model::record::Record;
use model::walk::{WalkRequest, Walked};
use storage::hot_store::{Answer, StoreError};

const THREADS: [&str; 2] = ["store-read-0", "store-read-1"];
/// Questions that wait, some 300 bytes each. Each new connection asks one.
pub const QUEUE_MAX: usize = 16_384;

pub struct Readers(readers::Readers<Tables, Asker>);

/// The party that a question is read for; each has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    User(UserId),
    Gateway,
}

impl Readers {
    pub fn start(tables: &Tables) -> std::io::Result<Self> {
        readers::Readers::start(&THREADS, tables, QUEUE_MAX).map(Readers)
    }

    pub fn ask<T: Send + 'static>(
        &self,
        asker: Asker,
        read: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> Answer<T> {
        answer(self.0.ask(asker, move |tables| read(&tables.view())))
    }

    /// A question of which each call of `read` answers a slice; the one that answers the last has the answer.
    pub fn ask_in_slices<T: Send + 'static>(
        &self,
        asker: Asker,
        mut read: impl FnMut(&Tables) -> Result<Option<T>, ReadError> + Send + 'static,
    ) -> Answer<T> {
        answer(self.0.ask_in_slices(asker, move |tables| read(tables).transpose()))
    }

    pub fn list(&self, mut list: List) -> Answer<Page> {
        self.ask_in_slices(Asker::User(list.user), move |tables| list.read_slice(tables))
    }

    pub fn users(&self, mut users: Users) -> Answer<Vec<UserId>> {
        answer(self.0.ask_in_slices(Asker::Gateway, move |tables| users.read_slice(tables).transpose()))
    }
}

fn answer<T: Send + 'static>(asked: PendingRead<Result<T, ReadError>>) -> Answer<T> {
    Box::pin(async move {
        match asked.answer().await {
            // Writes may go on, and so may other reads.
            Ok(answer) => answer.map_err(|error| StoreError::Away(error.to_string())),
            Err(unread) => Err(unread.into()),
        }
    })
}

/// At most as many rows as the limit, which takes as long as a few slices of a list.
pub fn walk(view: &View, user: UserId, request: &WalkRequest, horizon: u64) -> Result<Walked, ReadError> {
    let user_row = view.user(user)?;
    let from = request.after.map_or(Bound::Included(Content::FIRST), Bound::Excluded);
    let (mut walked, mut rows) = (Walked::default(), 0);
    for row in view.contents_in(user, from, Content::LAST).take(request.limit) {
        let (content, row) = row?;
        (rows, walked.next) = (rows + 1, Some(content));
        walked.records.extend(row.into_live(&user_row, horizon).filter(|_| request.wants(content)));
    }
    if rows < request.limit {
        walked.next = None;
    }
    Ok(walked)
}

pub fn get(view: &View, user: UserId, contents: &[Content], horizon: u64) -> Result<Vec<Option<Record>>, ReadError> {
    let user_row = view.user(user)?;
    let record = |content: &Content| {
        let row = view.content(user, *content)?;
        Ok(row.and_then(|row| row.into_live(&user_row, horizon)))
    };
    contents.iter().map(record).collect()
}
