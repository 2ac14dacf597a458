//! The history store: wide rows, all of a user together, written by version.

pub mod config;
mod history_user;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use self::history_user::HistoryUser;
use model::ids::UserId;
use model::pack::UserPack;
use model::retention::Retention;

pub type Answer<T> = BoxFuture<'static, Result<T, HistoryAway>>;

/// The history store cannot be written or read. Trying again may help; a write may have been done, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("history store unavailable: {0}")]
pub struct HistoryAway(pub String);

/// Keeps, per user, the clears and pauses and one row per content.
///
/// *Newest wins.* The row of the highest version of a content stays, and so do the clears and pauses of the highest
/// version of a user; each is replaced as a whole. So packs may be written in any order and any number of times, by any
/// number of writers. Rows of one version are equal, with one exception: the record may be missing from later packs,
/// because a clear or the retention removed it. Then it stays removed.
///
/// *Watermark.* A watermark removes all rows without a newer moment. Such rows that are written later are in no read.
///
/// *Expiry.* A row is kept until the newest of its record and its tombstone is a retention old, and so are clears and
/// pauses, except an open pause. Data that have expired by `now` are not written, and the store removes expired data
/// itself. The retention is that of the store, or the one that comes with a write if that is longer: a writer with a
/// narrower one than the gateways must not leave out what these still keep.
///
/// `now` is the wall clock in milliseconds since 1970. All methods may be called from any thread, with or without a
/// runtime.
pub trait HistoryStore: Send + Sync + 'static {
    /// Durable once answered. The data of a user are written in whole requests: a read may find a part of a large pack,
    /// but never a watermark without its effect. Dropping the future leaves the outcome unknown; repeat the whole
    /// write.
    fn write(&self, users: Arc<[UserPack]>, retention: Option<Retention>, now: u64) -> Answer<()>;

    /// All that is kept of a user. It sees every write that was answered before it was asked.
    fn read(&self, user: UserId, now: u64) -> Answer<HistoryUser>;
}
