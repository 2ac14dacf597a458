//! From notices to the event bus.
//!
//! ```text
//! turn? ─▶ take what is due ─▶ read the records ─▶ publish, of each user one after the other ─▶ remove
//! ```
//!
//! Forgettings of a user go first, in their order: a record that is read after the take is newer than they are. Nothing
//! else is taken until all are published, so a later forgetting comes after them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::health::{NoticeHealth, Step};
use crate::commit_listener::{CommitListener, CommittedGroup};
use crate::content_names::{ContentNamesUnavailable, NamedContents, texts_of};
use crate::names::{NamesUnavailable, UserNames};
use crate::time::clock::Clock;
use model::backoff::Backoff;
use model::cloud_event::{CloudEvent, Source};
use model::content_name::ContentTexts;
use model::ids::{Content, UserId};
use model::notices::{Notice, position_event};
use model::user_name::{ToldUser, UserName};
use storage::delivery::{Delivery, Receipt};
use storage::event_bus::{BusError, Event, EventBus, EventTopic};
use storage::hot_store::Positions;
use storage::notices::{Notices, Taken};
use storage::store_error::StoreError;
use storage::turn::Turn;

/// Notices that are taken together.
const TAKE_MAX: usize = 1_024;
/// Users whose records are read at the same time.
const READS: usize = 32;
/// The time from one look to the next, unless the last one found very much: a sync costs the same however many it
/// carries.
const PACE: Duration = Duration::from_millis(200);
/// The interval of looks without a commit here: other gateways leave notices, and steady ones become due.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The same while nothing is followed: what was left before goes, unpublished.
const IDLE_EVERY: Duration = Duration::from_secs(30);
/// How long another gateway's turn is believed, at most.
const TURN_POLL: Duration = Duration::from_secs(3);
const RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(3));

pub struct Publisher {
    pub notices: Arc<dyn Notices>,
    pub records: Arc<dyn Positions>,
    pub bus: Arc<dyn EventBus>,
    pub clock: Arc<Clock>,
    /// The source of all events.
    pub source: Source,
    /// Notified when a commit has left a notice that is due.
    pub left: Arc<Notify>,
    pub health: Arc<NoticeHealth>,
    /// Where users are named by texts.
    pub names: Option<UserNames>,
    /// Where contents are.
    pub contents: Option<NamedContents>,
}

/// Notifies the publisher.
pub struct NoticeListener {
    pub notices: Arc<dyn Notices>,
    pub left: Arc<Notify>,
}

/// Taken notices, with the events made of them.
#[derive(Default)]
struct Batch {
    events: Vec<CloudEvent>,
    /// To be removed when all events are published.
    done: Vec<Taken>,
    /// Why some records could not be read. Their notices stay.
    unread: Option<StoreError>,
}

/// Why notices stay.
#[derive(Debug, thiserror::Error)]
enum PublishError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("another gateway publishes them")]
    TurnLost,
}

impl CommitListener for NoticeListener {
    fn name(&self) -> &'static str {
        "notices"
    }

    fn committed(&self, group: &CommittedGroup) {
        if self.notices.followed().get().any() && group.changes.iter().any(|change| change.outcome.is_change()) {
            self.left.notify_one();
        }
    }
}

impl Publisher {
    /// Until the future is dropped.
    pub async fn run(self) {
        let mut backoff = RETRY;
        loop {
            let began = Instant::now();
            match self.look().await {
                Some(Look::Found { much: true }) => backoff = RETRY,
                Some(Look::Found { much: false }) => {
                    backoff = RETRY;
                    self.rest(began).await;
                }
                Some(Look::NotMine(wait)) => sleep(wait.min(TURN_POLL)).await,
                None => sleep(backoff.failed()).await,
            }
        }
    }

    /// Until it is time for another look, after one that began then.
    async fn rest(&self, began: Instant) {
        while timeout(LOOK_EVERY, self.left.notified()).await.is_err() {
            if self.notices.followed().get().any() || began.elapsed() >= IDLE_EVERY {
                break;
            }
        }
        sleep_until(began + PACE).await;
    }

    /// `None`: something failed, and is still there.
    async fn look(&self) -> Option<Look> {
        if let Turn::Taken(wait) = self.health.note(Step::Turn, self.notices.turn().await)? {
            return Some(Look::NotMine(wait.max(PACE)));
        }
        let taken = self.notices.take(self.clock.now(), TAKE_MAX).await;
        let taken = self.health.note(Step::Take, taken)?;
        let much = taken.len() >= TAKE_MAX;
        if taken.is_empty() {
            return Some(Look::Found { much });
        }
        let began = Instant::now();
        let names = self.health.note(Step::Read, self.names_of(&taken).await)?;
        let texts = self.health.note(Step::Read, self.texts_of(&taken).await)?;
        let Batch { events, done, unread } = self.batch(taken, &names, &texts).await;
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        self.health.note(Step::Publish, self.publish(events).await)?;
        self.health.published(&kinds, began.elapsed());
        self.health.note(Step::Remove, self.notices.remove(done).await)?;
        self.health.note(Step::Read, unread.map_or(Ok(()), Err))?;
        Some(Look::Found { much })
    }

    async fn names_of(&self, taken: &[Taken]) -> Result<HashMap<UserId, UserName>, StoreError> {
        match &self.names {
            Some(names) => {
                let users = taken.iter().map(|taken| taken.notice.user());
                names.names_of(users).await.map_err(|NamesUnavailable(error)| error)
            }
            None => Ok(HashMap::new()),
        }
    }

    async fn texts_of(&self, taken: &[Taken]) -> Result<ContentTexts, StoreError> {
        let contents = taken.iter().flat_map(|taken| taken.notice.contents().iter().copied());
        texts_of(self.contents.as_ref(), contents).await.map_err(|ContentNamesUnavailable(error)| error)
    }

    /// The events of each user in their order: forgettings first, then the records as they are now. `names`: of the users;
    /// `texts`: of the contents.
    async fn batch(&self, taken: Vec<Taken>, names: &HashMap<UserId, UserName>, texts: &ContentTexts) -> Batch {
        let followed = self.notices.followed().get();
        let (mut forgotten, mut positions) = (Vec::new(), BTreeMap::<UserId, BTreeSet<Content>>::new());
        for Taken { notice, .. } in &taken {
            match notice {
                Notice::Forgotten(one) if followed.forgotten => forgotten.push(one),
                Notice::Position { user, content } if followed.positions => {
                    positions.entry(*user).or_default().insert(*content);
                }
                _ => {}
            }
        }
        forgotten.sort_by_key(|forgotten| (forgotten.user, forgotten.version));
        let mut batch = Batch::default();
        let of_forgotten = forgotten.into_iter().map(|one| one.event(names.get(&one.user), texts, &self.source));
        batch.events.extend(of_forgotten);
        let read = stream::iter(positions).map(async |(user, contents)| {
            let contents = contents.into_iter().collect();
            (user, self.records.get(user, contents, self.clock.now()).await)
        });
        let mut read = pin!(read.buffer_unordered(READS));
        let mut unread = HashSet::new();
        while let Some((user, found)) = read.next().await {
            match found {
                Ok(found) => {
                    let (records, user) =
                        (found.records.iter().flatten(), ToldUser { id: user, name: names.get(&user) });
                    batch.events.extend(records.map(|record| position_event(user, record, texts, &self.source)));
                }
                Err(error) => {
                    unread.insert(user);
                    batch.unread = Some(error);
                }
            }
        }
        let is_read = |taken: &Taken| match &taken.notice {
            Notice::Position { user, .. } => !unread.contains(user),
            Notice::Forgotten(_) => true,
        };
        batch.done = taken.into_iter().filter(is_read).collect();
        batch
    }

    /// Publishes all, those of a user in their order.
    async fn publish(&self, events: Vec<CloudEvent>) -> Result<(), PublishError> {
        let waves = if self.bus.is_atomic() { vec![events] } else { waves(events) };
        for wave in waves.into_iter().filter(|wave| !wave.is_empty()) {
            let (receipts, mut reports) = unbounded_channel();
            let event = |(cloud_event, number)| {
                let receipt = Receipt::new(number, receipts.clone());
                Event { topic: EventTopic::Positions, cloud_event, receipt }
            };
            self.bus.publish(wave.into_iter().zip(1..).map(event).collect());
            drop(receipts);
            let mut failed = None;
            loop {
                match timeout(TURN_POLL, reports.recv()).await {
                    Ok(Some(report)) => match report.delivery {
                        Delivery::Published => {}
                        Delivery::Refused(why) | Delivery::Unknown(why) => failed = Some(why),
                    },
                    Ok(None) => break,
                    // The bus may take long. Without the turn another gateway tells them, too.
                    Err(_) => self.keep_turn().await?,
                }
            }
            if let Some(why) = failed {
                return Err(PublishError::Bus(BusError(why)));
            }
        }
        Ok(())
    }

    async fn keep_turn(&self) -> Result<(), PublishError> {
        match self.notices.turn().await {
            Ok(Turn::Taken(_)) => Err(PublishError::TurnLost),
            Ok(Turn::Mine | Turn::Done) | Err(_) => Ok(()),
        }
    }
}

/// The result of a look.
enum Look {
    /// `much`: there is probably more.
    Found { much: bool },
    /// Another gateway has the turn for so long.
    NotMine(Duration),
}

/// The first event of each partition key, then the second, …
fn waves(events: Vec<CloudEvent>) -> Vec<Vec<CloudEvent>> {
    let (mut waves, mut counts) = (Vec::<Vec<CloudEvent>>::new(), HashMap::<String, usize>::new());
    for event in events {
        let count = counts.entry(event.partition_key.clone()).or_default();
        if waves.len() == *count {
            waves.push(Vec::new());
        }
        waves[*count].push(event);
        *count += 1;
    }
    waves
}
