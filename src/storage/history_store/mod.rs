//! Where what leaves the hot store is kept: wide rows, a user's together, written by version.

pub mod cassandra;
pub mod config;
mod history_user;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use self::history_user::HistoryUser;
use crate::model::ids::UserId;
use crate::model::pack::UserPack;

pub type Answer<T> = BoxFuture<'static, Result<T, HistoryAway>>;

/// The history store cannot be written or read. Trying again may help; a write may have been done, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("history store unavailable: {0}")]
pub struct HistoryAway(pub String);

/// Keeps, per user, what was forgotten and one row per content.
///
/// *Newest wins.* Of a content the row of the highest version stays, of a user the forgetting of the highest version;
/// each is replaced as a whole. So packs may be written in any order and any number of times, by any number of writers.
/// A row of one version is always the same, with one exception: its record may be missing from later packs, because a
/// clear or the retention took it. Then it stays away.
///
/// *Watermark.* Rows that are known by no newer moment than the watermark are removed with it, and those that come
/// later are in no read.
///
/// *Expiry.* A row is kept until the newest of its record and its tombstone is a retention old; so is what was
/// forgotten, except a pause of recording that goes on. What has expired by `now` is not written, and removed by the
/// store itself.
///
/// `now` is the wall clock in milliseconds since 1970. All methods may be called from any thread, with or without a
/// runtime.
pub trait HistoryStore: Send + Sync + 'static {
    /// Durable once answered. What was written of a user is there in whole requests: a read may find a part of a large
    /// pack, but never a watermark without its effect. Dropping the future leaves the outcome unknown; repeat the
    /// whole.
    fn write(&self, users: Arc<[UserPack]>, now: u64) -> Answer<()>;

    /// All that is kept of a user. It sees every write that was answered before it was asked.
    fn read(&self, user: UserId, now: u64) -> Answer<HistoryUser>;
}
