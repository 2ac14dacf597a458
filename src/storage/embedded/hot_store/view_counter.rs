//! Counts views: one batch and one `fdatasync` for all waiting requests.

use std::sync::Arc;

use futures_util::FutureExt;

use super::commit::GroupWriter;
use super::read::Asker;
use super::tables::ReadError;
use super::views::ViewDraft;
use super::{EmbeddedStore, Shared};
use crate::describe;
use crate::write_queue::{Answered, WriteQueue};
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use model::view::{View, ViewDays, Viewed};
use storage::hot_store::StoreError;
use storage::views::{Answer, Views};

/// The thread that counts.
const THREAD: &str = "store-views";

pub enum Request {
    Count(View, Answered<Viewed>),
    Delete(Content, Answered<()>),
    /// Removes the marks of a user.
    Forget(UserId, Answered<()>),
}

/// The writing thread.
pub type ViewCounter = WriteQueue<Request>;

pub fn start(shared: Arc<Shared>) -> std::io::Result<ViewCounter> {
    WriteQueue::start(THREAD, "views", move |requests| answer(&shared, requests))
}

/// Answers the requests in order. Each deletion and each erasure of marks is a batch of its own.
fn answer(shared: &Shared, requests: Vec<Request>) {
    let mut views = Vec::with_capacity(requests.len());
    for request in requests {
        match request {
            Request::Count(view, answered) => views.push((view, answered)),
            Request::Delete(content, answered) => {
                count(shared, &mut views);
                let deleted = shared.write(|writer| writer.delete_views(content));
                let _ = answered.send(deleted);
            }
            Request::Forget(user, answered) => {
                count(shared, &mut views);
                let forgotten = shared.write(|writer| writer.forget_view_marks(user));
                let _ = answered.send(forgotten);
            }
        }
    }
    count(shared, &mut views);
}

fn count(shared: &Shared, views: &mut Vec<(View, Answered<Viewed>)>) {
    if views.is_empty() {
        return;
    }
    let counted = shared.write(|writer| writer.count_views(views.iter().map(|(view, _)| view)));
    match counted {
        Ok(counted) => {
            for ((_, answered), viewed) in views.drain(..).zip(counted) {
                let _ = answered.send(Ok(viewed));
            }
        }
        Err(error) => {
            for (_, answered) in views.drain(..) {
                let _ = answered.send(Err(error.clone()));
            }
        }
    }
}

impl GroupWriter {
    fn count_views<'a>(&mut self, views: impl Iterator<Item = &'a View>) -> Result<Vec<Viewed>, StoreError> {
        self.change_views(|draft| views.map(|view| draft.count(view)).collect())
    }

    fn delete_views(&mut self, content: Content) -> Result<(), StoreError> {
        self.change_views(|draft| draft.delete(content))
    }

    /// Lets `change` fill a draft, and writes it.
    fn change_views<T>(
        &mut self,
        change: impl FnOnce(&mut ViewDraft) -> Result<T, ReadError>,
    ) -> Result<T, StoreError> {
        self.require_writable()?;
        let (tables, views) = (self.tables.clone(), self.views.clone());
        let view = tables.view();
        let mut draft = ViewDraft::new(&views, &view.snapshot);
        let changed = change(&mut draft).map_err(|error| self.unread(error))?;
        if !draft.is_empty() {
            let mut batch = tables.durable_batch(0);
            let written = draft.put(&mut batch).and_then(|()| batch.commit());
            written.map_err(|error| self.fail(describe(&error)))?;
        }
        Ok(changed)
    }

    fn forget_view_marks(&mut self, user: UserId) -> Result<(), StoreError> {
        self.require_writable()?;
        let marks = self.views.marks_of(&self.tables.view().snapshot, user);
        let marks = marks.map_err(|error| self.unread(error))?;
        if !marks.is_empty() {
            let mut batch = self.tables.durable_batch(marks.len());
            marks.into_iter().for_each(|(table, mark)| batch.remove(&table, mark));
            batch.commit().map_err(|error| self.fail(describe(&error)))?;
        }
        Ok(())
    }
}

impl Views for EmbeddedStore {
    fn count(&self, view: View) -> Answer<Viewed> {
        self.view_counter.ask(|answer| Request::Count(view, answer))
    }

    fn totals(&self, contents: Vec<Content>) -> Answer<Vec<Option<u64>>> {
        let views = self.views.clone();
        let totals = self.readers.ask(Asker::Gateway, move |view| {
            contents.into_iter().map(|content| views.total(&view.snapshot, content).map(Some)).collect()
        });
        Box::pin(totals.map(|totals| Ok(totals?)))
    }

    fn days(&self, content: Content, from: Day, to: Day) -> Answer<ViewDays> {
        let views = self.views.clone();
        let days = self.readers.ask(Asker::Gateway, move |view| {
            let days = views.between(&view.snapshot, content, from, to)?;
            Ok(ViewDays { total: views.total(&view.snapshot, content)?, days })
        });
        Box::pin(days.map(|days| Ok(days?)))
    }

    fn delete(&self, content: Content) -> Answer<()> {
        self.view_counter.ask(|answer| Request::Delete(content, answer))
    }

    fn forget(&self, user: UserId, _today: Day) -> Answer<()> {
        self.view_counter.ask(|answer| Request::Forget(user, answer))
    }
}
