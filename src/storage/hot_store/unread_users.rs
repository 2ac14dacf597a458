//! Users of a hot store that was lost and rebuilt: their heads are made when they are needed.

use std::sync::Arc;

use super::Answer;
use super::trim_users::TrimUsers;
use crate::history_store::HistoryUser;
use model::cold::ColdMark;
use model::ids::UserId;

/// Tells users that were not read from the history store yet from new ones, and makes their heads.
///
/// May be called from any thread.
pub trait UnreadUsers: Send + Sync + 'static {
    /// When the store was rebuilt, milliseconds since 1970; `None`: it was never lost.
    fn rebuilt_at(&self) -> Option<u64>;

    /// Whether the store was rebuilt and has not read this user yet.
    fn is_unread(&self, user: UserId) -> Answer<bool>;

    /// Makes the head of an unread user; see [`make_head`](super::optimistic::make_head).
    fn make_head(&self, user: UserId, history: Arc<HistoryUser>, now: u64) -> Answer<Option<ColdMark>>;
}

/// A hot store from which rows leave, and which may have been rebuilt.
pub trait ColdUsers: TrimUsers + UnreadUsers {}

impl<T: TrimUsers + UnreadUsers> ColdUsers for T {}
