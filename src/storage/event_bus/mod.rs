//! Where events go that others act upon.

use futures_util::future::BoxFuture;

use crate::model::rewards::claim::Claim;

/// Takes events and keeps them for those who consume them.
///
/// All methods may be called from any thread.
pub trait EventBus: Send + Sync + 'static {
    /// Publishes one event for each claim, in this order. Once it is answered they are durable; after an error all, some
    /// or none are, and publishing them again is right: consumers drop what they have seen, by the event's id.
    fn publish<'a>(&'a self, claims: &'a [Claim]) -> BoxFuture<'a, Result<(), BusError>>;
}

/// The bus did not take the events, or not all; trying again may help.
#[derive(Debug, thiserror::Error)]
#[error("the event bus is away: {0}")]
pub struct BusError(pub String);
