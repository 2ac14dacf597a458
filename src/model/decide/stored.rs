//! The reads of a store for a decision about one user.

use crate::forgetting::{ContentRow, Eviction, UserRow};
use crate::ids::Content;
use crate::rewards::claim::ClaimKey;

/// One user, as it is stored before the group. A [`Draft`](super::Draft) reads each row at most once.
///
/// `is_drafted` tells which contents are in the draft already: their stored rows do not count. After an error the user
/// has no outcome.
pub trait StoredUser {
    type Error;

    /// The stored claims of the user that an erasure removes.
    type Claims;

    /// The state that the store has without a search.
    fn at_hand(&mut self) -> Result<AtHand, Self::Error>;

    /// The row of one content; `None`: no row.
    fn row(&mut self, content: Content) -> Result<Option<ContentRow>, Self::Error>;

    /// The count of kept contents.
    fn contents(&mut self) -> Result<u32, Self::Error>;

    /// The `at` of the newest record that is not older than `oldest`, milliseconds; 0 = no record.
    fn newest_record(&mut self, oldest: u64, is_drafted: impl Fn(Content) -> bool) -> Result<u64, Self::Error>;

    /// The content that is evicted first at the cap.
    fn first_to_go(&mut self, is_drafted: impl Fn(Content) -> bool)
    -> Result<Option<(Eviction, Content)>, Self::Error>;

    /// The contents of which [`ContentRow::prune`] drops anything, at most as many as one commit may remove.
    fn dead(
        &mut self,
        forgetting: &UserRow,
        horizon: u64,
        is_drafted: impl Fn(Content) -> bool,
    ) -> Result<DeadContents, Self::Error>;

    /// The rows of all contents.
    fn all(&mut self) -> Result<Vec<(Content, ContentRow)>, Self::Error>;

    /// Whether a claim of this key is stored; `erased`: the group has erased the user's claims before.
    fn is_claimed(&mut self, key: &ClaimKey, erased: bool) -> Result<bool, Self::Error>;

    fn claims(&mut self) -> Result<Self::Claims, Self::Error>;
}

/// The state of a user that a store has without a search.
#[derive(Default)]
pub struct AtHand {
    /// Deletions, clears and switches of recording of the user.
    pub forgetting: UserRow,
    /// The row of the content that was played last.
    pub row: Option<(Content, ContentRow)>,
    /// The count of kept contents, if it is known.
    pub contents: Option<u32>,
}

#[derive(Default)]
pub struct DeadContents {
    pub contents: Vec<Content>,
    /// More contents remain.
    pub more: bool,
}
