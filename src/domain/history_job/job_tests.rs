use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, ready};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::*;
use crate::history_packs::fixture::user_at;
use model::ids::UserId;
use model::pack::{Pack, UserPack};
use model::shard::Shards;
use model::version::Version;
use storage::history_bus::codec;
use storage::history_bus::source::MessageRef;
use storage::history_store::{Answer, HistoryAway, HistoryUser};

const DAY_MS: u64 = 86_400_000;
/// The retention named in packs.
const OF_GATEWAYS: Option<Retention> = Some(Retention::of_ms(90 * DAY_MS));
/// The complaint of the job about that retention.
const DIFFERS: &str = "store.retention: is 2d, and the gateways have 90d";

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Written(Vec<(UserId, Version)>),
    Failed,
    Quarantined(i64),
    Refused(i64),
    Committed(Vec<i64>),
}

/// Bus, store and quarantine.
#[derive(Default)]
struct Scene {
    messages: Mutex<VecDeque<Vec<RawPack>>>,
    events: Mutex<Vec<Event>>,
    /// So many calls fail.
    failing: Mutex<u32>,
}

impl Scene {
    fn fails(&self) -> bool {
        let mut failing = self.failing.lock();
        let fails = *failing > 0;
        *failing = failing.saturating_sub(1);
        fails
    }

    fn send(&self, event: Event) {
        self.events.lock().push(event);
    }
}

impl PackSource for Scene {
    fn next(&self, _: usize) -> BoxFuture<'_, Vec<RawPack>> {
        match self.messages.lock().pop_front() {
            Some(messages) => Box::pin(ready(messages)),
            None => Box::pin(pending()),
        }
    }

    fn commit(&self, message_refs: &[MessageRef]) {
        self.send(Event::Committed(message_refs.iter().map(|message_ref| message_ref.offset).collect()));
    }

    fn lag(&self) -> BTreeMap<i32, u64> {
        BTreeMap::new()
    }

    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }
}

impl HistoryStore for Scene {
    fn write(&self, users: Arc<[UserPack]>, retention: Option<Retention>, _: u64) -> Answer<()> {
        if self.fails() {
            self.send(Event::Failed);
            return Box::pin(ready(Err(HistoryAway("a test".to_owned()))));
        }
        assert_eq!(retention, OF_GATEWAYS, "rows are kept as long as the gateways keep them");
        let version = |user: &UserPack| (user.user, user.rows[0].version);
        self.send(Event::Written(users.iter().map(version).collect()));
        Box::pin(ready(Ok(())))
    }

    fn read(&self, _: UserId, _: u64) -> Answer<HistoryUser> {
        Box::pin(ready(Ok(HistoryUser::default())))
    }
}

impl Quarantine for Scene {
    fn put(&self, message: Quarantined) {
        let offset = message.pack.message_ref.offset;
        let (event, delivery) = match self.fails() {
            true => (Event::Refused(offset), Delivery::Refused("a test".to_owned())),
            false => (Event::Quarantined(offset), Delivery::Published),
        };
        self.send(event);
        message.receipt.report(delivery);
    }

    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }
}

fn message(offset: i64, at: u64) -> RawPack {
    let user = UserId(42);
    let users = vec![user_at(user, 1, at).pack()];
    let pack =
        Pack { deployment: "d".into(), region: Shards::DEFAULT.of(user).region(), retention: OF_GATEWAYS, users };
    RawPack { message_ref: MessageRef { partition: 0, offset, term: 1 }, key: Vec::new(), bytes: codec::encode(&pack) }
}

fn garbage(offset: i64) -> RawPack {
    RawPack { bytes: vec![255; 9], ..message(offset, 1_000) }
}

/// Runs the job until all these batches are committed, while so many calls fail. Returns the events and the complaints.
async fn run(batches: Vec<Vec<RawPack>>, failing: u32) -> (Vec<Event>, Vec<String>) {
    let count = batches.len();
    let scene = Arc::new(Scene { messages: Mutex::new(batches.into()), failing: failing.into(), ..Scene::default() });
    let health = Arc::new(JobHealth::new(scene.clone(), scene.clone()));
    let job = Job {
        source: scene.clone(),
        store: scene.clone(),
        quarantine: scene.clone(),
        retention: Retention::of_ms(2 * DAY_MS),
        now: || 0,
        health: health.clone(),
        metrics: Metrics::default(),
    };
    let committed = || scene.events.lock().iter().filter(|event| matches!(event, Event::Committed(_))).count();
    tokio::select! {
        () = job.run() => unreachable!("it goes on"),
        () = async { while committed() < count { sleep(Duration::from_millis(1)).await } } => {}
    }
    let events = scene.events.lock().clone();
    (events, health.degraded())
}

#[tokio::test(start_paused = true)]
async fn messages_read_together_are_written_in_one_batch_and_then_committed() {
    let (events, degraded) = run(vec![vec![message(1, 2_000), message(2, 1_000)]], 0).await;
    assert_eq!(events, [Event::Written(vec![(UserId(42), Version(2_000_000))]), Event::Committed(vec![1, 2])]);
    assert_eq!(degraded, [DIFFERS]);
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_the_write_is_repeated_and_no_offset_is_committed() {
    let (events, degraded) = run(vec![vec![message(1, 1_000)]], 5).await;
    let mut expected = vec![Event::Failed; 5];
    expected.extend([Event::Written(vec![(UserId(42), Version(1_000_000))]), Event::Committed(vec![1])]);
    assert_eq!((events, degraded), (expected, vec![DIFFERS.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_message_is_quarantined_before_its_offset_is_committed() {
    let (events, _) = run(vec![vec![garbage(1), message(2, 1_000), garbage(3)]], 2).await;
    let refused = Event::Refused(1);
    let quarantined = [1, 3].map(Event::Quarantined);
    let expected = [refused.clone(), refused].into_iter().chain(quarantined);
    let written = [Event::Written(vec![(UserId(42), Version(1_000_000))]), Event::Committed(vec![1, 2, 3])];
    assert_eq!(events, expected.chain(written).collect::<Vec<_>>());
}
