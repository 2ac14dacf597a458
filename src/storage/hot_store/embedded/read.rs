//! Reads, on [`THREADS`] of their own. When [`QUEUE_MAX`] questions wait, the next is answered [`StoreError::Away`] at once.

use super::tables::{ReadError, Tables, View};
use crate::model::forgetting::{ContentRow, UserRow};
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::storage::embedded::readers;
use crate::storage::hot_store::{Answer, StoreError};

const THREADS: [&str; 2] = ["store-read-0", "store-read-1"];
/// Questions that wait, some 150 bytes each. Everybody who connects asks one.
pub const QUEUE_MAX: usize = 16_384;

pub struct Readers(readers::Readers<Tables>);

impl Readers {
    pub fn start(tables: &Tables) -> std::io::Result<Self> {
        readers::Readers::start(&THREADS, tables, QUEUE_MAX).map(Readers)
    }

    pub fn ask<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> Answer<T> {
        let asked = self.0.ask(move |tables| read(&tables.view()));
        Box::pin(async move {
            match asked.answer().await {
                // Writing may go on, and so may other reads.
                Ok(answer) => answer.map_err(|error| StoreError::Away(error.to_string())),
                Err(unread) => Err(StoreError::Away(unread.to_string())),
            }
        })
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
