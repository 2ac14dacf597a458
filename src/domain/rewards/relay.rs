//! From the outbox to the event bus.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::bus_health::BusHealth;
use super::claim_bell::ClaimBell;
use crate::model::rewards::claim::Claim;
use crate::storage::event_bus::EventBus;
use crate::storage::outbox::{Outbox, OutboxNumber};

/// Events that are published together, one batch after the other. A bus that takes 50 ms for a batch has 20,000 a second.
const BATCH_MAX: usize = 1024;
/// From one batch to the next, unless it was full or the outbox fills up. Claims that come within it are published together,
/// since a sync costs the same whatever it carries; one that comes after a while is published at once.
const PACE: Duration = Duration::from_millis(500);
/// How often it looks though nobody rings: entries may come from a gateway that has died.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// A bus that has not answered for so long is away.
const ANSWER_MAX: Duration = Duration::from_secs(5);
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// What waits is published no later than this after the bus is back.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Publishes the events of claims, in the order in which the claims were made, at least once each: an entry leaves the
/// outbox when the bus has its event, and not before.
pub struct Relay {
    pub outbox: Arc<dyn Outbox>,
    pub bus: Arc<dyn EventBus>,
    /// Rung when something was claimed.
    pub bell: Arc<ClaimBell>,
    pub health: Arc<BusHealth>,
}

/// How far it has come.
#[derive(Default)]
struct Place {
    published: OutboxNumber,
    /// Some of that is still in the outbox.
    unremoved: bool,
}

impl Relay {
    /// Runs for as long as it is polled.
    pub async fn run(self) {
        tokio::join!(self.relay(), self.health.watch());
    }

    async fn relay(&self) {
        let mut place = Place::default();
        loop {
            let began = Instant::now();
            self.publish_all(&mut place).await;
            let rung = timeout_at(began + LOOK_EVERY, self.bell.claimed()).await.is_ok();
            let _crowded = timeout_at(began + PACE, self.bell.crowded()).await;
            if !rung && place.unremoved {
                self.remove(&mut place).await;
            }
        }
    }

    /// Publishes all that is there. For what comes meanwhile somebody rings.
    async fn publish_all(&self, place: &mut Place) {
        let mut pause = RETRY_FIRST;
        loop {
            match self.publish_next(place).await {
                Ok(count) => {
                    // With nothing to publish nothing waits.
                    self.health.has_answered();
                    if count < BATCH_MAX {
                        return;
                    }
                    pause = RETRY_FIRST;
                }
                Err(error) => {
                    self.health.is_silent(&error);
                    sleep(pause).await;
                    pause = (pause * 2).min(RETRY_MAX);
                }
            }
        }
    }

    /// Publishes a batch, and says how many there were in it. One that is not full was the last.
    async fn publish_next(&self, place: &mut Place) -> Result<usize, String> {
        let entries = self.outbox.read(place.published, BATCH_MAX).await.map_err(|error| error.to_string())?;
        let (numbers, claims): (Vec<OutboxNumber>, Vec<Claim>) = entries.into_iter().unzip();
        let Some(last) = numbers.last().copied() else { return Ok(0) };
        self.publish(&claims).await?;
        self.health.published(claims.len());
        place.published = last;
        self.remove(place).await;
        Ok(numbers.len())
    }

    /// Waits for the answer for as long as it takes, and says so when that is long.
    async fn publish(&self, claims: &[Claim]) -> Result<(), String> {
        let mut publishing = self.bus.publish(claims);
        let published = match timeout(ANSWER_MAX, &mut publishing).await {
            Ok(published) => published,
            Err(_) => {
                self.health.is_silent(&format!("the event bus has not answered for {ANSWER_MAX:?}"));
                publishing.await
            }
        };
        published.map_err(|error| error.to_string())
    }

    /// Whether it is removed or not, it is published: an entry that stays is published once more after a restart.
    async fn remove(&self, place: &mut Place) {
        let removed = self.outbox.remove(place.published).await;
        if let Err(error) = &removed {
            tracing::warn!(%error, "published events stay in the outbox");
        }
        place.unremoved = removed.is_err();
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
pub mod tests;
