//! Users whose changes wait to be carried to the history store.

use std::time::Duration;

use super::Answer;
use super::optimistic::ListedUser;
use crate::model::ids::UserId;
use crate::model::shard::{Region, Shard};
use crate::model::version::Version;

/// The list of a hot store that several gateways share. Whatever two of them do at the same time of one user, nothing
/// that was not delivered leaves the list.
///
/// May be called from any thread.
pub trait ListedUsers: Send + Sync + 'static {
    /// Asks to carry the changes of a region for so long. It only spares double work.
    fn take(&self, region: Region, lease: Duration) -> Answer<Turn>;

    /// Users of the region whose changes are due at `now`, milliseconds, at most `limit`. Those of a part of the store
    /// that is away are left out.
    fn due(&self, region: Region, now: u64, limit: usize) -> Answer<Vec<UserId>>;

    /// What may have changed of these users, in the order asked.
    fn read(&self, users: Vec<UserId>) -> Answer<Vec<ListedUser>>;

    /// All that was read of these users was delivered, and they leave the list if nothing has changed since. Answers
    /// for each whether it has left.
    ///
    /// # Errors
    /// Any of them may have left, now or later.
    fn unlist(&self, users: Vec<ListedUser>, now: u64) -> Answer<Vec<bool>>;

    /// All that these users had up to a version was delivered: its marks go, and the users are due again then,
    /// milliseconds. Version 0: there was no mark.
    fn put_off(&self, users: Vec<(UserId, Version)>, due: u64) -> Answer<()>;

    fn waiting(&self) -> Answer<Waiting>;

    /// Asks to look through all users for some who were never listed, since gateways that did not carry changes have
    /// written them. `since`: whatever was done by a look that began then or later need not be done again.
    fn take_walk(&self, since: u64, lease: Duration) -> Answer<Turn>;

    /// Lists the users of the shard who were never listed, with all that they have. Returns how many.
    fn list_unknown(&self, shard: Shard, now: u64) -> Answer<u64>;

    /// All shards were looked through since `began`, milliseconds.
    fn end_walk(&self, began: u64) -> Answer<()>;
}

/// Whose turn something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Mine,
    /// Another process has it, for so long.
    Taken(Duration),
    /// There is nothing to do.
    Done,
}

/// What waits in all shards together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub users: u64,
    /// When the longest due is or was due, milliseconds.
    pub oldest_due: Option<u64>,
}
