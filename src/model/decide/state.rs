//! What is kept of one user, as the decider reads and changes it.

use crate::model::forgetting::{ContentRow, Eviction, UserRow};
use crate::model::ids::Content;
use crate::model::record::Record;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::transition::Cause;

/// One user's state: what is stored, with the changes of the group that were decided so far.
///
/// A store implements it over what it has read. Nothing that is put here is stored before the whole group is decided.
/// An error says what could not be read; the group then has no outcome.
pub trait UserState {
    type Error;

    /// What the user has asked to forget.
    fn forgetting(&mut self) -> Result<&UserRow, Self::Error>;

    fn put_forgetting(&mut self, row: UserRow) -> Result<(), Self::Error>;

    /// The row of one content, and what the user has asked to forget.
    fn content(&mut self, content: Content) -> Result<KeptContent<'_>, Self::Error>;

    /// The `at` of the newest record that reads return, milliseconds; 0 = there is none. Records before `horizon` have
    /// expired.
    fn newest_record(&mut self, horizon: u64) -> Result<u64, Self::Error>;

    /// How many contents are kept. One whose row has just been put for the first time is not counted.
    fn contents(&mut self) -> Result<u32, Self::Error>;

    fn put_contents(&mut self, contents: u32) -> Result<(), Self::Error>;

    /// The content that gives way first at the cap, `except` apart.
    fn first_to_go(&mut self, except: Content) -> Result<Option<(Eviction, Content)>, Self::Error>;

    /// The row of this content is new, or has lost its record: its turn to give way may come sooner than was known.
    fn goes_sooner(&mut self, content: Content) -> Result<(), Self::Error>;

    /// Empties the rows of all contents. Returns the newest moment that any of them was known by. `erased` is given the
    /// records that went.
    fn erase_contents(&mut self, erased: impl FnMut(Record)) -> Result<u64, Self::Error>;

    /// Drops what no read can return any more of all contents, or a part of it that one commit may take; true: of more than
    /// that. Records before `horizon` have expired. `gone` is given each record that went, and why.
    fn prune_contents(&mut self, horizon: u64, gone: impl FnMut(Record, Cause)) -> Result<bool, Self::Error>;

    fn is_claimed(&mut self, key: &ClaimKey) -> Result<bool, Self::Error>;

    /// Adds a claim, with its entry in the outbox.
    fn claim(&mut self, claim: Claim);

    /// Removes all claims of the user. Entries in the outbox stay.
    fn erase_claims(&mut self) -> Result<(), Self::Error>;
}

/// The row of one content. It is empty when nothing is kept.
pub struct KeptContent<'a> {
    pub forgetting: &'a UserRow,
    pub row: &'a mut ContentRow,
    /// To be set when `row` has changed.
    pub changed: &'a mut bool,
}
