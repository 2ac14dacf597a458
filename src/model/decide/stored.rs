//! What a store reads of one user for a decision.

use crate::model::forgetting::{ContentRow, Eviction, UserRow};
use crate::model::ids::Content;
use crate::model::rewards::claim::ClaimKey;

/// One user, as it is stored before the group. A [`Draft`](super::Draft) reads each row at most once.
///
/// `is_drafted` tells which contents the draft has already: their stored rows do not count. An error says what could
/// not be read; the user then has no outcome.
pub trait StoredUser {
    type Error;

    /// What an erasure removes of the user's claims.
    type Claims;

    /// What is known without a search.
    fn at_hand(&mut self) -> Result<AtHand, Self::Error>;

    /// The row of one content; `None`: there is none.
    fn row(&mut self, content: Content) -> Result<Option<ContentRow>, Self::Error>;

    /// How many contents are kept.
    fn contents(&mut self) -> Result<u32, Self::Error>;

    /// The `at` of the newest record that is not older than `oldest`, milliseconds; 0 = there is none.
    fn newest_record(&mut self, oldest: u64, is_drafted: impl Fn(Content) -> bool) -> Result<u64, Self::Error>;

    /// The content that gives way first at the cap.
    fn first_to_go(&mut self, is_drafted: impl Fn(Content) -> bool)
    -> Result<Option<(Eviction, Content)>, Self::Error>;

    /// The contents of which [`ContentRow::prune`] drops anything, or as many of them as one commit may take.
    fn dead(
        &mut self,
        forgetting: &UserRow,
        horizon: u64,
        is_drafted: impl Fn(Content) -> bool,
    ) -> Result<DeadContents, Self::Error>;

    /// The rows of all contents.
    fn all(&mut self) -> Result<Vec<(Content, ContentRow)>, Self::Error>;

    /// Whether there is a claim of this key; `erased`: once the user's claims are erased.
    fn is_claimed(&mut self, key: &ClaimKey, erased: bool) -> Result<bool, Self::Error>;

    fn claims(&mut self) -> Result<Self::Claims, Self::Error>;
}

/// What a store knows of a user from the beginning.
#[derive(Default)]
pub struct AtHand {
    /// What the user has asked to forget.
    pub forgetting: UserRow,
    /// The row of what was played last.
    pub row: Option<(Content, ContentRow)>,
    /// How many contents are kept.
    pub contents: Option<u32>,
}

#[derive(Default)]
pub struct DeadContents {
    pub contents: Vec<Content>,
    /// There are others.
    pub more: bool,
}
