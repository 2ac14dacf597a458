//! Users whose changes wait to be carried to the history store.

use std::time::Duration;

use super::Answer;
use super::optimistic::ListedUser;
use crate::turn::Turn;
use model::ids::UserId;
use model::shard::{Region, Shard};
use model::version::Version;

/// The list of users in a hot store that several gateways share. No undelivered change leaves the list, whatever two
/// gateways do at the same time about one user.
///
/// May be called from any thread.
pub trait ListedUsers: Send + Sync + 'static {
    /// Asks for the lease to carry the changes of a region. The lease only spares double work.
    fn take(&self, region: Region, lease: Duration) -> Answer<Turn>;

    /// Users of the region whose changes are due at `now`, milliseconds, at most `limit`. Those of a part of the store
    /// that is away are left out.
    fn due(&self, region: Region, now: u64, limit: usize) -> Answer<Vec<UserId>>;

    /// The possible changes of these users, in the order asked.
    fn read(&self, users: Vec<UserId>) -> Answer<Vec<ListedUser>>;

    /// Removes users from the list after all that was read of them was delivered, unless they have changed since.
    /// Answers for each whether it was removed.
    ///
    /// # Errors
    /// Any of them may have been removed, or may be removed later.
    fn unlist(&self, users: Vec<ListedUser>, now: u64) -> Answer<Vec<bool>>;

    /// Removes the marks of these users up to a version, after their changes were delivered, and makes the users due
    /// again at `due`, milliseconds. Version 0: there was no mark.
    fn put_off(&self, users: Vec<(UserId, Version)>, due: u64) -> Answer<()>;

    fn waiting(&self) -> Answer<Waiting>;

    /// Asks for the lease to search all users for those never listed, since gateways that did not carry changes have
    /// written them. `since`: shards that a search begun then or later has covered need not be searched again.
    fn take_walk(&self, since: u64, lease: Duration) -> Answer<Turn>;

    /// Lists the users of the shard that were never listed, with all their rows. Returns their number.
    fn list_unknown(&self, shard: Shard, now: u64) -> Answer<u64>;

    /// Takes note that all shards were searched since `began`, milliseconds.
    fn end_walk(&self, began: u64) -> Answer<()>;
}

/// The waiting users of all shards together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub users: u64,
    /// The due time of the longest waiting user, milliseconds.
    pub oldest_due: Option<u64>,
}
