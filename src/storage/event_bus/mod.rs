//! The event bus: publishes events for other systems.

pub mod archives;
pub mod config;
pub mod part;
pub mod source;
pub mod unmarked;

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::delivery::Receipt;
use model::cloud_event::CloudEvent;
use model::event_page::LogPart;
pub use model::event_topic::EventTopic;

/// How long positions and forgettings are kept.
pub const POSITIONS_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// An event to publish.
#[derive(Debug)]
pub struct Event {
    pub topic: EventTopic,
    pub cloud_event: CloudEvent,
    pub receipt: Receipt,
}

/// Takes events and keeps them for consumers.
///
/// All methods may be called from any thread.
pub trait EventBus: Send + Sync + 'static {
    /// Takes events without waiting: the delivery of each is reported by its own receipt, in any order. That may take
    /// long while the bus or a part of it is away. An event that waits delays no other.
    ///
    /// Events of one topic and partition key are published in the order in which they are handed over if each is handed
    /// over only when the one before it has been reported as published; or together in one call, if the bus
    /// [is atomic](Self::is_atomic).
    fn publish(&self, events: Vec<Event>);

    /// Whether the events of one call are published all or none, in their order.
    fn is_atomic(&self) -> bool {
        false
    }

    /// Known problems of the bus, which may take events nevertheless; each in a few words for the operator.
    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The position of an event in a log, counted from 1. An offset is never used for another event of the same log.
pub type Offset = u64;

/// A bus that can be read back by its offsets. May be used from any thread.
pub trait EventLog: Send + Sync + 'static {
    /// The oldest events after `after` (0 = from the oldest that is kept), in their order, each as the text of a JSON
    /// object. At most `limit`, and fewer when they are long; none only if there is none.
    fn read(&self, after: Offset, limit: usize) -> BoxFuture<'static, Result<LogPart, BusError>>;

    /// The offset of the newest event, 0 = there was none yet; changes when there is a newer one, which can be read
    /// then.
    fn newest(&self) -> watch::Receiver<Offset>;
}

/// Events cannot be written or read. Trying again may help.
#[derive(Debug, thiserror::Error)]
#[error("event bus unavailable: {0}")]
pub struct BusError(pub String);
