//! Where events go that others act upon.

pub mod cloud_event;
pub mod config;
pub mod embedded;
pub mod kafka;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::model::rewards::claim::Claim;

/// Takes events and keeps them for those who consume them.
///
/// All methods may be called from any thread.
pub trait EventBus: Send + Sync + 'static {
    /// Publishes one event for each claim, in this order. Once it is answered they are durable; after an error all, some
    /// or none are, and publishing them again is right: consumers drop what they have seen, by the event's id.
    ///
    /// Answered when that is known, which may take long while the bus is away. Dropping the future leaves the outcome
    /// unknown.
    fn publish<'a>(&'a self, claims: &'a [Claim]) -> BoxFuture<'a, Result<(), BusError>>;

    /// What is known to be wrong with it, though it may take events; each in a few words for whoever runs it.
    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The place of an event in a log: the first has 1, each next one more. It is never used for another event.
pub type Offset = u64;

/// A bus that can be read back by its offsets. May be used from any thread.
pub trait EventLog: Send + Sync + 'static {
    /// The oldest events behind `after` (0 = from the oldest that is kept), in their order, each as the text of a JSON
    /// object. At most `limit`, and fewer when they are long; none only if there is none.
    fn read(&self, after: Offset, limit: usize) -> BoxFuture<'static, Result<Vec<(Offset, String)>, BusError>>;

    /// The offset of the newest event, 0 = there was none yet; changes when there is a newer one, which can be read then.
    fn newest(&self) -> watch::Receiver<Offset>;
}

/// The bus did not take the events, or not all; or they cannot be read. Trying again may help.
#[derive(Debug, thiserror::Error)]
#[error("the event bus is away: {0}")]
pub struct BusError(pub String);
