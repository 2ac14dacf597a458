//! The users of a hot store and their records, one after the other.

use super::Answer;
use model::ids::UserId;
use model::page::UsersRequest;
use model::walk::{WalkRequest, Walked};

/// Names users and their records, for exports. Any backend may look at many users for one page, so a page may take seconds.
///
/// May be called from any thread.
pub trait StoredUsers: Send + Sync + 'static {
    /// Users with a record that reads return at `now` (server-clock milliseconds), ascending; fewer than the limit are
    /// the last ones. A page that is asked for right after the one before it may leave out users that came in between.
    fn users(&self, request: UsersRequest, now: u64) -> Answer<Vec<UserId>>;

    /// Some of the user's live records, in the order of their contents. Of a walk that goes on where it was, each record
    /// that is there throughout is returned once, however often it changes. It looks at as many contents as the limit.
    fn walk(&self, user: UserId, request: WalkRequest, now: u64) -> Answer<Walked>;
}
