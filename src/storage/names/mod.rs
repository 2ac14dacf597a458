//! The numbers of users who are named by a text.
//!
//! ```text
//! name  → keyed hash → number    kept as long as the user may be known
//! number → text                  dropped by an erasure, written again by the user's next welcome
//! ```
//!
//! *One number.* However many processes ask for the number of a name at once, all get the same one, and no other name ever
//! gets it.
//!
//! *Durable.* A number is stored in both directions before it is answered.
//!
//! Numbers count from 1. The upper half of all numbers is never given: see [`UserName::stand_in`].

use super::store_error::Answer;
use model::ids::UserId;
use model::user_name::UserName;

/// The text of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameText {
    Known(UserName),
    /// An erasure has dropped it. The name still has this number.
    Dropped,
}

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    pub user: UserId,
    /// An erasure has dropped the text.
    pub is_dropped: bool,
}

/// All methods may be called from any thread.
pub trait Names: Send + Sync + 'static {
    /// The number of a name. One that has none gets it; a text that was dropped is written again.
    fn number(&self, name: UserName) -> Answer<UserId>;

    /// In the order asked; `None`: the name has no number. Stores nothing.
    fn numbers(&self, names: Vec<UserName>) -> Answer<Vec<Option<Numbered>>>;

    /// In the order asked; `None`: no name has this number.
    fn texts(&self, users: Vec<UserId>) -> Answer<Vec<Option<NameText>>>;

    /// Drops the text of the user's name. Succeeds also if there is none.
    fn drop_text(&self, user: UserId) -> Answer<()>;
}
