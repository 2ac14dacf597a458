//! Reads of a connection about the rewards of its user.

use std::time::Instant;

use futures_util::future::BoxFuture;

use crate::store_reads::Unavailable;
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::decided::DecidedRules;

/// The state of a user, as the welcome tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectInfo {
    pub paused: bool,
    pub today: Day,
    /// Today, if all rules are decided for the user.
    pub flag: Option<Day>,
}

/// Answers from where rewards are decided: here, or in a history service.
pub trait Lookup: Send + Sync + 'static {
    fn today(&self) -> Day;

    /// The day at that moment. Cheap enough for every ack.
    fn day_at(&self, moment: Instant) -> Day;

    /// Whether the sender of a beat knows that it cannot earn a reward today.
    fn is_all_decided(&self, content: Content, known: DecidedRules, now: Instant) -> bool;

    fn of(&self, user: UserId) -> BoxFuture<'_, Result<ConnectInfo, Unavailable>>;

    /// Today, if all rules are decided for the user; otherwise `None`, even if only because the store does not answer.
    fn flag(&self, user: UserId) -> BoxFuture<'_, Option<Day>>;

    /// The user's claims of today.
    fn claims(&self, user: UserId) -> BoxFuture<'_, Result<(Day, Vec<ClaimKey>), Unavailable>>;

    /// All kept claims, the newest day first.
    fn kept_claims(&self, user: UserId) -> BoxFuture<'_, Result<Vec<ClaimKey>, Unavailable>>;
}
