//! What a beat is committed to before its ack.
//!
//! A backend decides with the rules of [`crate::model::rule`] and nothing else, so that every backend gives the same
//! answers to the same changes.

pub mod embedded;

use futures_util::future::BoxFuture;

use crate::model::change::{Change, Outcome};
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;

/// Changes that are committed together, all judged at the same moment.
#[derive(Debug)]
pub struct Group {
    /// The server's clock, milliseconds: scripts and stores take their time from the gateway.
    pub now: u64,
    pub changes: Vec<Change>,
}

/// Keeps, per user, a row of what was forgotten and one row per content.
///
/// An erasure leaves nothing of a user but the moment up to which everything stays away; what holds of a commit holds of
/// it, however many rows go.
///
/// Reads see every commit that was answered before they were asked. They apply the user's forgetting and the retention
/// at `now` (server-clock milliseconds). All methods may be called from any thread.
pub trait HotStore: Send + Sync + 'static {
    /// Applies the changes in their order and answers one [`Outcome`] each, in the same order.
    ///
    /// *Atomic* per user: all that a change does is there or nothing is. *Durable*: once answered it survives the loss
    /// of the process and of the machine. *Repeatable*: after an error the same group may be committed again, whatever
    /// the first attempt did; what it had done already is answered with success. Dropping the future leaves the outcome
    /// unknown.
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Outcome>, StoreError>>;

    /// The live records of these contents, in the order asked.
    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Vec<Option<Record>>>;

    /// A page of the user's live records, newest first.
    fn list(&self, user: UserId, request: PageRequest, now: u64) -> Answer<Page>;

    /// Whether the user's recording is paused.
    fn paused(&self, user: UserId) -> Answer<bool>;
}

pub type Answer<T> = BoxFuture<'static, Result<T, StoreError>>;

/// What a failed call means to the one who made it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing is known to have been done; asking again may help.
    #[error("the store is away: {0}")]
    Away(String),
    /// The store can no longer be trusted to keep anything until it is opened again.
    #[error("the store has failed and writes no more: {0}")]
    Failed(String),
}
