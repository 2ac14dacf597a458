//! Users' records, and the commits that change them.

use std::future::ready;

use futures_util::future::BoxFuture;

use super::{Answer, Committed, Due, Group, StoreError};
#[cfg(doc)]
use crate::model::change::Action;
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::model::rows_read::RowsRead;
use crate::model::shard::Shard;

/// Keeps, per user, a row of what was forgotten and one row per content. What a commit claims is kept with them
/// ([`Claims`](super::Claims)).
///
/// An erasure leaves nothing of a user but the moment up to which everything stays away; what holds of a commit holds
/// of it, however many rows go. One that is committed again takes what was written since, too.
///
/// Reads see every commit that was answered before they were asked. They apply the user's forgetting and the retention
/// at `now` (server-clock milliseconds). All methods may be called from any thread.
pub trait Positions: Send + Sync + 'static {
    /// Applies the changes in their order and says what became of each.
    ///
    /// *Atomic* per user: all that a change does is there or nothing is. *Durable*: once answered it survives the loss
    /// of the process and of the machine. *Repeatable*: after an error the same group may be committed again, whatever
    /// the first attempt did; what it had done already is answered with success. Dropping the future leaves the outcome
    /// unknown.
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>>;

    /// How many parts of the store may be away while the others serve: changes of users in different lanes are
    /// committed in groups of their own. Stays the same while the store is open.
    fn lanes(&self) -> usize {
        1
    }

    /// The lane of the shard's users, less than [`lanes`](Self::lanes); always the same. A group of any users may be
    /// committed in any lane: it only waits for more than it has to.
    fn lane(&self, _shard: Shard) -> usize {
        0
    }

    /// Whether the part of the store that has the shard is there, as far as is known without asking. Must not block.
    fn is_connected(&self, _shard: Shard) -> bool {
        true
    }

    /// How many groups of a lane may be committed side by side. They take effect in the order in which they were begun,
    /// unless one of them fails.
    fn groups_max(&self) -> usize {
        1
    }

    /// Why the store takes no commits any more, when it has noticed that by itself. Must not block: it is asked every
    /// second.
    fn failure(&self) -> Option<StoreError> {
        None
    }

    /// The live records of these contents, in the order asked.
    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Vec<Option<Record>>>;

    /// A page of the user's live records, newest first. Every row that is looked at for it is counted in `rows`. A long
    /// list lets other reads of the store go between.
    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page>;

    /// Whether the user's recording is paused.
    fn paused(&self, user: UserId) -> Answer<bool>;

    /// Some of the users who have something that no read returns any more, by `now`: [`Action::Prune`] is to be
    /// committed for each, again as long as there is more. Who is not pruned is named again later.
    fn due(&self, _now: u64) -> Answer<Due> {
        Box::pin(ready(Ok(Due::default())))
    }
}
