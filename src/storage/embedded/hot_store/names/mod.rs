//! The names of users, in the database of the records: one batch and one `fdatasync` for all new names that wait.

mod draft;
mod tables;

use std::sync::Arc;

use self::draft::NameDraft;
use self::tables::NameTables;
use super::commit::GroupWriter;
use super::read::Asker;
use super::tables::ReadError;
use super::{EmbeddedStore, OpenError, Shared};
use crate::describe;
use crate::write_queue::{Answered, WriteQueue};
use model::ids::UserId;
use model::user_name::UserName;
use storage::hot_store::StoreError;
use storage::names::{NameText, Names, Numbered};
use storage::store_error::Answer;

/// The thread that writes names.
const THREAD: &str = "store-names";

enum Request {
    Number(UserName, Answered<UserId>),
    DropText(UserId, Answered<()>),
}

/// The names of the users of an [`EmbeddedStore`].
pub struct EmbeddedNames {
    // The thread ends before what it uses is closed.
    queue: WriteQueue<Request>,
    tables: NameTables,
    store: Arc<EmbeddedStore>,
}

impl EmbeddedStore {
    /// Whether the users of this store are named by texts. `None`: nothing was committed yet, so that is still open.
    pub fn has_names(&self) -> Result<Option<bool>, OpenError> {
        let tables = &self.shared.tables;
        let has_names =
            NameTables::are_kept(tables).map_err(|error| OpenError::of_tables(self.shared.dir.path(), error))?;
        Ok((has_names || self.calendar.is_some()).then_some(has_names))
    }
}

impl EmbeddedNames {
    pub fn open(store: Arc<EmbeddedStore>) -> Result<Self, OpenError> {
        let shared = store.shared.clone();
        let path = shared.dir.path().to_owned();
        let tables = NameTables::open(&shared.tables).map_err(|error| OpenError::of_tables(&path, error))?;
        let written = tables.clone();
        let queue = WriteQueue::start(THREAD, "new names", move |requests| answer(&shared, &written, requests));
        let queue = queue.map_err(|error| OpenError::unusable(&path, error))?;
        Ok(EmbeddedNames { queue, tables, store })
    }
}

impl Names for EmbeddedNames {
    fn number(&self, name: UserName) -> Answer<UserId> {
        self.queue.ask(|answer| Request::Number(name, answer))
    }

    fn numbers(&self, names: Vec<UserName>) -> Answer<Vec<Option<Numbered>>> {
        let tables = self.tables.clone();
        self.store
            .readers
            .ask(Asker::Gateway, move |view| names.iter().map(|name| tables.numbered(&view.snapshot, name)).collect())
    }

    fn texts(&self, users: Vec<UserId>) -> Answer<Vec<Option<NameText>>> {
        let tables = self.tables.clone();
        self.store
            .readers
            .ask(Asker::Gateway, move |view| users.iter().map(|user| tables.text(&view.snapshot, *user)).collect())
    }

    fn drop_text(&self, user: UserId) -> Answer<()> {
        self.queue.ask(|answer| Request::DropText(user, answer))
    }
}

/// Answers the requests in order, after one commit.
fn answer(shared: &Shared, tables: &NameTables, requests: Vec<Request>) {
    let written = shared.write(|writer| writer.write_names(tables, &requests));
    let mut numbers = written.map(Vec::into_iter);
    for request in requests {
        match (request, &mut numbers) {
            (Request::Number(_, answered), Ok(numbers)) => {
                drop(numbers.next().map(|number| answered.send(Ok(number))));
            }
            (Request::DropText(_, answered), Ok(_)) => drop(answered.send(Ok(()))),
            (Request::Number(_, answered), Err(error)) => drop(answered.send(Err(error.clone()))),
            (Request::DropText(_, answered), Err(error)) => drop(answered.send(Err(error.clone()))),
        }
    }
}

impl GroupWriter {
    /// Returns the numbers that were asked for, in order.
    fn write_names(&mut self, names: &NameTables, requests: &[Request]) -> Result<Vec<UserId>, StoreError> {
        self.require_writable()?;
        let tables = self.tables.clone();
        let view = tables.view();
        let mut draft = NameDraft::new(names, &view.snapshot);
        let numbers = apply(&mut draft, requests).map_err(|error| self.unread(error))?;
        if let Some(batch) = draft.batch(&tables) {
            batch.commit().map_err(|error| self.fail(describe(&error)))?;
        }
        Ok(numbers)
    }
}

fn apply(draft: &mut NameDraft, requests: &[Request]) -> Result<Vec<UserId>, ReadError> {
    let mut numbers = Vec::with_capacity(requests.len());
    for request in requests {
        match request {
            Request::Number(name, _) => numbers.push(draft.number(name)?),
            Request::DropText(user, _) => draft.drop_text(*user)?,
        }
    }
    Ok(numbers)
}
