//! The subscribers that follow positions and forgettings.
//!
//! Every gateway looks for itself, and believes what it found for [`KNOWN_FOR`]. So a new subscriber gets everything once
//! that time has passed: until then its making is not answered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use super::health::{NoticeHealth, Step};
use model::notices::Followed;
use model::subscribers::{EventType, State, SubscriberId};
use storage::notices::Notices;
use storage::owner_queues::{OwnerQueues, Revision};
use storage::store_error::StoreError;

/// How long a gateway believes what it found.
const KNOWN_FOR: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many gateways commit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This one alone.
    Here,
    /// Others, too.
    Shared,
}

pub struct Followers {
    queues: Arc<dyn OwnerQueues>,
    notices: Arc<dyn Notices>,
    health: Arc<NoticeHealth>,
    reach: Reach,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    revision: Revision,
    /// The owners that follow anything.
    owners: HashMap<SubscriberId, Followed>,
    followed: Followed,
    /// Since when all of that is followed, as far as is known here.
    since: Option<Instant>,
}

impl Followers {
    /// Until it is known who follows what, everything counts as followed.
    pub fn new(
        queues: Arc<dyn OwnerQueues>,
        notices: Arc<dyn Notices>,
        health: Arc<NoticeHealth>,
        reach: Reach,
    ) -> Self {
        notices.followed().set(Followed::ALL, std::time::Instant::now(), Duration::ZERO);
        Followers { queues, notices, health, reach, known: Mutex::default() }
    }

    /// Until the future is dropped.
    pub async fn run(&self) {
        loop {
            self.health.note(Step::Subscriptions, self.look().await);
            sleep(LOOK_EVERY).await;
        }
    }

    /// Resolves when every gateway leaves notices of these, after somebody has subscribed to them.
    pub async fn reached(&self, types: &[EventType]) -> Result<(), StoreError> {
        let wanted = EventType::followed(types);
        if !wanted.any() {
            return Ok(());
        }
        self.look().await?;
        let since = self.known.lock().await.since;
        if let (Reach::Shared, Some(since)) = (self.reach, since) {
            // Another gateway looked just before the subscriber was made at the latest.
            sleep_until(since + KNOWN_FOR).await;
        }
        Ok(())
    }

    async fn look(&self) -> Result<(), StoreError> {
        let mut known = self.known.lock().await;
        let began = Instant::now();
        let changes = self.queues.subscriptions(known.revision.clone()).await?;
        known.revision = changes.revision;
        for (id, now) in changes.changed {
            let now = now.filter(|now| now.state != State::Disabled);
            match now.map(|now| EventType::followed(&now.subscriber.types)).filter(|followed| followed.any()) {
                Some(followed) => drop(known.owners.insert(id, followed)),
                None => drop(known.owners.remove(&id)),
            }
        }
        let followed = known.owners.values().copied().fold(Followed::NONE, Followed::or);
        if !known.followed.has(followed) {
            known.since = Some(Instant::now());
        }
        known.followed = followed;
        self.notices.followed().set(followed, began.into_std(), KNOWN_FOR);
        Ok(())
    }
}
