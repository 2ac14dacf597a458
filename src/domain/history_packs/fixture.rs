//! A list in memory, for tests.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use model::beat::State;
use model::forgetting::ContentRow;
use model::ids::{Content, SessionId, UserId};
use model::record::Record;
use model::rewards::credit::Credit;
use model::shard::{Region, Shard, Shards};
use model::version::Version;
use storage::hot_store::listed_users::{ListedUsers, Waiting};
use storage::hot_store::optimistic::{Head, Listing, Token};
use storage::hot_store::{Answer, ListedUser};
use storage::turn::Turn;

/// A user whose rows were written a minute after the epoch.
pub fn listed(user: UserId, rows: usize) -> ListedUser {
    user_at(user, rows, 60_000)
}

/// `at`: when the rows and the head were written, milliseconds.
pub fn user_at(user: UserId, rows: usize, at: u64) -> ListedUser {
    user_with(user, rows, at, 1_000)
}

/// The same, with another position in the first row.
pub fn user_with(user: UserId, rows: usize, at: u64, pos: u64) -> ListedUser {
    user_of(user, Listing::Listed, rows_at(rows, at, pos), at)
}

/// A user of these rows; the head was written at `at`, milliseconds.
pub fn user_of(user: UserId, listing: Listing, rows: BTreeMap<Content, ContentRow>, at: u64) -> ListedUser {
    let token = Token { version: Version::first_of(at), writer: 1 };
    let head = Head { token, listing, ..Head::default() };
    ListedUser::new(user, Some(Box::new(head)), rows)
}

/// Rows of the contents 0, 1 and so on. `pos`: the position in the first one.
pub fn rows_at(rows: usize, at: u64, pos: u64) -> BTreeMap<Content, ContentRow> {
    let row = |oid| {
        let content = Content { kind: 1, oid };
        let record = Record {
            content,
            pos: if oid == 0 { pos } else { 1_000 },
            dur: 60_000,
            state: State::Playing,
            session: SessionId(7),
            device: Arc::from("tv"),
            watched: 1_000,
            at,
            version: Version::first_of(at),
            credit: Credit::default(),
        };
        (content, ContentRow { record: Some(record), tombstone: None })
    };
    (0..rows as u64).map(row).collect()
}

/// A list of users in memory.
#[derive(Default)]
pub struct List {
    users: Mutex<BTreeMap<UserId, Entry>>,
    of_another: AtomicBool,
}

struct Entry {
    due: u64,
    user: ListedUser,
    /// The head has changed since it was read.
    written: bool,
}

impl List {
    pub fn add(&self, user: ListedUser, due: u64) {
        self.lock().insert(user.user, Entry { due, user, written: false });
    }

    /// Marks the user as written since the last read.
    pub fn is_written(&self, user: UserId) {
        self.lock().entry(user).and_modify(|entry| entry.written = true);
    }

    /// `does`: another process holds the leases of all regions.
    pub fn belongs_to_another(&self, does: bool) {
        self.of_another.store(does, Ordering::Relaxed);
    }

    /// The listed users, and when each is due.
    pub fn due(&self) -> Vec<(UserId, u64)> {
        self.lock().iter().map(|(user, entry)| (*user, entry.due)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<UserId, Entry>> {
        self.users.lock()
    }
}

fn answer<T: Send + 'static>(value: T) -> Answer<T> {
    Box::pin(ready(Ok(value)))
}

impl ListedUsers for List {
    fn take(&self, _: Region, _: Duration) -> Answer<Turn> {
        let of_another = self.of_another.load(Ordering::Relaxed);
        answer(if of_another { Turn::Taken(Duration::from_secs(1)) } else { Turn::Mine })
    }

    fn due(&self, region: Region, now: u64, limit: usize) -> Answer<Vec<UserId>> {
        let users = self.lock();
        let is_due =
            |(user, entry): &(&UserId, &Entry)| entry.due <= now && Shards::DEFAULT.of(**user).region() == region;
        answer(users.iter().filter(is_due).map(|(user, _)| *user).take(limit).collect())
    }

    fn read(&self, users: Vec<UserId>) -> Answer<Vec<ListedUser>> {
        let list = self.lock();
        let gone = |user| ListedUser::new(user, None, BTreeMap::new());
        answer(
            users
                .into_iter()
                .map(|user| list.get(&user).map_or_else(|| gone(user), |entry| entry.user.clone()))
                .collect(),
        )
    }

    fn unlist(&self, users: Vec<ListedUser>, _: u64) -> Answer<Vec<bool>> {
        let mut list = self.lock();
        let mut leaves = |user: ListedUser| match list.get(&user.user) {
            Some(entry) if entry.written => false,
            _ => list.remove(&user.user).is_some(),
        };
        answer(users.into_iter().map(&mut leaves).collect())
    }

    fn put_off(&self, users: Vec<(UserId, Version)>, due: u64) -> Answer<()> {
        let mut list = self.lock();
        for (user, _) in users {
            list.entry(user).and_modify(|entry| entry.due = due);
        }
        answer(())
    }

    fn waiting(&self) -> Answer<Waiting> {
        let list = self.lock();
        answer(Waiting { users: list.len() as u64, oldest_due: list.values().map(|entry| entry.due).min() })
    }

    fn take_walk(&self, _: u64, _: Duration) -> Answer<Turn> {
        answer(Turn::Done)
    }

    fn list_unknown(&self, _: Shard, _: u64) -> Answer<u64> {
        answer(0)
    }

    fn end_walk(&self, _: u64) -> Answer<()> {
        answer(())
    }
}
