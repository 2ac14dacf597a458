//! Users' records, and the commits that change them.

use std::future::ready;

use futures_util::future::BoxFuture;

use super::{Answer, Committed, Due, Found, Group, StoreError};
#[cfg(doc)]
use model::change::Action;
use model::ids::{Content, UserId};
use model::page::{Page, PageRequest};
use model::recording::Switch;
use model::rows_read::RowsRead;
use model::shard::Shard;

/// Keeps, per user, one row of clears and pauses and one row per content, together with the claims of commits
/// ([`Claims`](super::Claims)).
///
/// An erasure leaves of what is not newer than it only the watermark of the user, up to which all beats are rejected. It
/// has the guarantees of any commit, however many rows it removes. Committed again, by whomever, it removes nothing.
///
/// A read sees every commit that was answered before it was asked. It applies the user's clears and the retention at
/// `now` (server-clock milliseconds). All methods may be called from any thread.
pub trait Positions: Send + Sync + 'static {
    /// Applies the changes in order, and returns the outcome of each.
    ///
    /// *Atomic* per user: a change is stored completely or not at all. *Durable*: once answered it survives the loss of
    /// the process and of the machine. *Repeatable*: after an error the same group may be committed again, whatever the
    /// first attempt did; changes that it had stored are answered with success. Dropping the future leaves the outcome
    /// unknown.
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>>;

    /// The number of lanes: parts of the store that may be away while the others serve. Changes of users in different
    /// lanes are committed in separate groups. The number is constant while the store is open.
    fn lanes(&self) -> usize {
        1
    }

    /// The lane of the shard's users, less than [`lanes`](Self::lanes); it never changes. Any users may be committed in
    /// any lane, but then the group may wait for more parts of the store than necessary.
    fn lane(&self, _shard: Shard) -> usize {
        0
    }

    /// Whether the part of the store that has the shard is connected and takes writes, as far as known. Must not block.
    fn is_connected(&self, _shard: Shard) -> bool {
        true
    }

    /// Why parts of the store do not, each in a few words. Must not block.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many groups of a lane may be committed concurrently. They take effect in the order in which they were begun,
    /// unless one of them fails.
    fn groups_max(&self) -> usize {
        1
    }

    /// Why the store takes no commits any more, if it has noticed that without a commit. Must not block: it is called
    /// every second.
    fn failure(&self) -> Option<StoreError> {
        None
    }

    /// The live records of these contents, in the order asked, without those that are only in the history store.
    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Found>;

    /// A page of the user's live records, newest first, without those that are only in the history store. Every row read for it is counted in `rows`, also if its record
    /// is not on the page. Other reads of the store run in between a long list. A store may cut a page of finished
    /// records short, so that one request looks at a bounded number of rows; each page comes on in the list.
    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page>;

    /// The newest switch of the user's recording; `None`: there is none, and it is on.
    fn last_switch(&self, user: UserId) -> Answer<Option<Switch>>;

    /// Whether the user's recording is paused.
    fn paused(&self, user: UserId) -> Answer<bool> {
        let last = self.last_switch(user);
        Box::pin(async move { Ok(last.await?.is_some_and(|last| last.paused)) })
    }

    /// Some of the users with rows that no read returns any more at `now`: commit [`Action::Prune`] for each, again as
    /// long as more is left. A user that is not pruned is returned again later.
    fn due(&self, _now: u64) -> Answer<Due> {
        Box::pin(ready(Ok(Due::default())))
    }
}
