//! Fills queues from the log, after a replay was asked for.
//!
//! Each fill names the version of the owner and the offset that it was read after: two processes that fill one queue,
//! or a replay that began anew meanwhile, cannot mix. What the cascade reads of such an owner meanwhile is left out of
//! the queue, and the replay goes on until it has come that far.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::health::{CascadeHealth, Step};
use model::content_name::ContentIds;
use model::subscribers::{Facts, Subscriber};
use storage::event_bus::part::Part;
use storage::event_bus::source::{EventArchive, PartEvents};
use storage::event_bus::{BusError, Offset};
use storage::owner_queues::{Fill, Filled, OwnerQueues, Replay};
use storage::store_error::StoreError;

/// Events that are read at once.
const READ_MAX: usize = 1_000;
/// Replays that were asked for at another process are found so soon.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The pause when no queue has moved on.
const PAUSE: Duration = Duration::from_millis(200);

pub struct Replays {
    /// The archives of all topics.
    pub archive: Arc<dyn EventArchive>,
    pub queues: Arc<dyn OwnerQueues>,
    /// Notified when a replay was asked for here.
    pub asked: Arc<Notify>,
    /// Notified when queues have got events.
    pub queued: Arc<Notify>,
    pub health: Arc<CascadeHealth>,
    /// How events name contents.
    pub ids: ContentIds,
}

#[derive(Debug, thiserror::Error)]
enum FillError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Replays {
    /// Until the future is dropped.
    pub async fn run(self) {
        loop {
            let replays = self.health.repeat(Step::Fill, || self.queues.replays()).await;
            if replays.is_empty() {
                let _ = timeout(LOOK_EVERY, self.asked.notified()).await;
                continue;
            }
            let mut moved = false;
            // In turn, so that a long one does not hold up the others.
            for replay in replays {
                moved |= self.health.note(Step::Fill, self.fill(&replay).await).unwrap_or_default();
            }
            // A queue without room waits for its subscriber; what does not fit stays in the log.
            if !moved {
                sleep(PAUSE).await;
            }
        }
    }

    /// A step of each part. Whether the queue has moved on.
    async fn fill(&self, replay: &Replay) -> Result<bool, FillError> {
        let parts: Arc<[Part]> = self.archive.ends().await?.into_keys().collect();
        let mut moved = false;
        let mut room = usize::try_from(replay.room).unwrap_or(usize::MAX);
        let mut room_bytes = replay.room_bytes;
        for part in parts.iter() {
            let limit = room.min(READ_MAX);
            if limit == 0 {
                break;
            }
            let at = replay.at.get(part).copied().unwrap_or_default();
            let mut read = self.archive.read(part.clone(), at, limit).await?;
            read.events.retain(|(_, event)| is_wanted(&replay.subscriber, event, self.ids));
            let fill = fill_of(replay, part, at, read, room_bytes, parts.clone());
            room = room.saturating_sub(fill.events.len());
            room_bytes = room_bytes.saturating_sub(bytes_of(&fill.events));
            let (has_moved, has_events) = (fill.to > at, !fill.events.is_empty());
            let filled = self.queues.fill(fill).await?;
            moved |= filled == Filled::More && has_moved || matches!(filled, Filled::Over | Filled::Moved);
            if has_events {
                self.queued.notify_one();
            }
            if filled != Filled::More || room_bytes == 0 {
                break;
            }
        }
        Ok(moved)
    }
}

/// The wanted events that fit, and at least one: an empty queue takes it however long it is.
fn fill_of(replay: &Replay, part: &Part, at: Offset, read: PartEvents, room_bytes: u64, parts: Arc<[Part]>) -> Fill {
    let PartEvents { mut events, to, is_end, .. } = read;
    let mut bytes = 0;
    let fitting = events.iter().take_while(|(_, event)| {
        bytes += event.len() as u64;
        bytes <= room_bytes
    });
    let fitting = fitting.count().max(1);
    let is_whole = fitting >= events.len();
    events.truncate(fitting);
    let reached = events.last().map(|(offset, _)| *offset).filter(|_| !is_whole);
    Fill {
        owner: replay.owner.clone(),
        version: replay.version,
        part: part.clone(),
        at,
        to: reached.unwrap_or(to.max(at)),
        is_end: is_end && is_whole,
        events,
        parts,
    }
}

fn bytes_of(events: &[(Offset, Arc<str>)]) -> u64 {
    events.iter().map(|(_, event)| event.len() as u64).sum()
}

fn is_wanted(subscriber: &Subscriber, event: &str, ids: ContentIds) -> bool {
    Facts::of(event, ids).is_some_and(|facts| subscriber.wants(&facts))
}
