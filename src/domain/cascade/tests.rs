//! The order of the steps, on the embedded queues.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tempfile::TempDir;
use tokio::sync::Notify;

use super::health::CascadeHealth;
use super::{Cascade, Looks, Metrics, Slots, TurnSettings, Turns, Workers};
use crate::time::clock::{self, Clock};
use crate::time::guard::{ClockGuard, ClockStatus};
use model::content_name::ContentIds;
use model::subscribers::{
    Delivery, EventType, FailureReason, Filter, Newer, Retries, Secrets, SigningSecret, Subscriber, SubscriberId,
};
use storage::endpoint::{Endpoint, Outcome};
use storage::event_bus::part::{Offsets, Part};
use storage::event_bus::source::{EventArchive, EventSource, PartEvents};
use storage::event_bus::{BusError, Offset};
use storage::owner_queues::{Append, Bounds, Change, Changed, OwnerQueues};
use storage::store_error::Answer;
use storage_embedded::owner_queues::EmbeddedQueues;

const PATIENCE: Duration = Duration::from_secs(60);
const BOUNDS: Bounds = Bounds { events: 100, bytes: 1 << 20, age: Duration::from_hours(1) };

fn event(number: u64) -> Arc<str> {
    let data = r#"{"rule":"first-of-day","mid":"42","kind":1,"oid":"100"}"#;
    format!(r#"{{"id":"event-{number}","type":"dev.heartline.reward.v1","data":{data}}}"#).into()
}

fn owner() -> SubscriberId {
    "owner".parse().expect("it is an id")
}

fn part() -> Part {
    Part::new("log")
}

/// Queues that last as long as the test.
struct Scene {
    _directory: TempDir,
    queues: Arc<EmbeddedQueues>,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let queues = EmbeddedQueues::open(directory.path(), BOUNDS, Arc::new(clock::wall)).expect("queues");
        Scene { _directory: directory, queues: Arc::new(queues) }
    }

    fn looks(&self) -> Arc<Looks> {
        Arc::new(Looks::new(self.queues.clone(), Arc::new(Clock::starting_at(0, Duration::from_hours(1)))))
    }

    async fn looked_at(&self) -> Option<u64> {
        self.queues.looked_at().await.expect("it can be read")
    }
}

/// Runs it until `done` is notified.
async fn run(served: impl Future<Output = ()>, done: &Notify) {
    let served = async {
        tokio::select! {
            () = served => {}
            () = done.notified() => {}
        }
    };
    tokio::time::timeout(PATIENCE, served).await.expect("it is done in time");
}

async fn make_owner(queues: &EmbeddedQueues) -> u64 {
    let put = Change::Put { subscriber: Arc::new(subscriber()), ends: Offsets::new() };
    match queues.change(owner(), 0, put).await {
        Ok(Changed::Done { version, .. }) => version,
        other => panic!("{other:?}"),
    }
}

fn subscriber() -> Subscriber {
    Subscriber {
        url: "https://example.com/".parse().expect("it is a URL"),
        types: vec![EventType::Reward],
        filter: Filter::default(),
        batch: 1,
        secrets: Secrets::new(SigningSecret::of(vec![1; 32]).expect("it is long enough")),
        newer: Newer::default(),
    }
}

/// A bus with one event. Its owner is made while the cascade waits for it.
struct OneEvent {
    queues: Arc<EmbeddedQueues>,
    is_read: Mutex<bool>,
    /// Events in the queue when the event was committed.
    queued: Mutex<Option<u64>>,
    committed: Arc<Notify>,
}

impl EventArchive for OneEvent {
    fn has(&self, _: &Part) -> bool {
        unreachable!("no replay was asked for")
    }

    fn ends(&self) -> BoxFuture<'_, Result<Offsets, BusError>> {
        unreachable!("no replay was asked for")
    }

    fn before(&self, _: u64) -> BoxFuture<'_, Result<Offsets, BusError>> {
        unreachable!("no replay was asked for")
    }

    fn read(&self, _: Part, _: Offset, _: usize) -> BoxFuture<'_, Result<PartEvents, BusError>> {
        unreachable!("no replay was asked for")
    }
}

impl EventSource for OneEvent {
    fn next(&self) -> BoxFuture<'_, Result<Option<PartEvents>, BusError>> {
        async {
            if std::mem::replace(&mut *self.is_read.lock(), true) {
                return pending().await;
            }
            make_owner(&self.queues).await;
            Ok(Some(PartEvents { part: part(), events: vec![(1, event(1))], to: 1, is_end: true }))
        }
        .boxed()
    }

    fn commit(&self, _: Part, _: Offset) -> BoxFuture<'_, Result<(), BusError>> {
        async {
            let totals = self.queues.totals().await.expect("totals");
            *self.queued.lock() = Some(totals.events);
            self.committed.notify_one();
            Ok(())
        }
        .boxed()
    }

    fn lag(&self) -> u64 {
        0
    }
}

#[tokio::test]
async fn an_event_is_queued_for_an_owner_made_before_it_and_then_committed() {
    let scene = Scene::new();
    let committed = Arc::new(Notify::new());
    let source = Arc::new(OneEvent {
        queues: scene.queues.clone(),
        is_read: Mutex::new(false),
        queued: Mutex::new(None),
        committed: committed.clone(),
    });
    let cascade = Cascade {
        source: source.clone(),
        queues: scene.queues.clone(),
        queued: Arc::new(Notify::new()),
        health: Arc::new(CascadeHealth::default()),
        metrics: Metrics::new(&mut Registry::default()),
        turns: turns(&scene, Arc::new(Script::new([], "", Arc::default()))),
        looks: scene.looks(),
        ids: ContentIds::Number,
        lag: Gauge::default(),
    };
    run(cascade.run(), &committed).await;
    assert_eq!(*source.queued.lock(), Some(1));
    assert!(scene.looked_at().await.is_some());
}

#[tokio::test]
async fn a_look_is_kept_at_once_and_later_ones_every_20_s() {
    let scene = Scene::new();
    let looks = scene.looks();
    assert_eq!(scene.looked_at().await, None);
    looks.keep().await;
    assert!(scene.looked_at().await.is_some_and(|at| clock::wall().abs_diff(at) < 60_000));
    tokio::time::pause();
    for (seconds, is_kept) in [(0, false), (19, false), (1, true), (19, false)] {
        scene.queues.keep_look(7).await.expect("it is kept");
        tokio::time::advance(Duration::from_secs(seconds)).await;
        looks.keep().await;
        assert_eq!(scene.looked_at().await != Some(7), is_kept, "{seconds}");
    }
}

/// Answers as told, and then takes everything.
struct Script {
    answers: Mutex<VecDeque<Outcome>>,
    /// The ids of all requests.
    asked: Mutex<Vec<String>>,
    last: &'static str,
    /// Notified when the last event is sent.
    over: Arc<Notify>,
}

impl Script {
    fn new(answers: impl Into<VecDeque<Outcome>>, last: &'static str, over: Arc<Notify>) -> Self {
        Script { answers: Mutex::new(answers.into()), asked: Mutex::default(), last, over }
    }
}

fn turns(scene: &Scene, endpoint: Arc<Script>) -> Arc<Turns> {
    Arc::new(Turns { endpoint, ..scene_turns(scene) })
}

fn scene_turns(scene: &Scene) -> Turns {
    let settings = TurnSettings {
        timeout: Duration::from_secs(1),
        retries: Retries::new(vec![Duration::from_millis(1)]),
        hmac: |_, _| vec![0; 32],
    };
    Turns {
        queues: scene.queues.clone(),
        endpoint: Arc::new(Script::new([], "", Arc::default())),
        queued: Arc::default(),
        settings: Arc::new(settings),
        clock: Arc::new(Clock::starting_at(0, Duration::from_hours(1))),
        clock_status: ClockStatus::alone(),
        health: Arc::default(),
        metrics: Metrics::new(&mut Registry::default()),
        slots: Slots::new(4),
    }
}

impl Endpoint for Script {
    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        if delivery.id == self.last {
            self.over.notify_one();
        }
        self.asked.lock().push(delivery.id);
        let outcome = self.answers.lock().pop_front().unwrap_or(Outcome::Delivered);
        async move { outcome }.boxed()
    }
}

#[tokio::test]
async fn what_was_not_taken_is_sent_again_before_anything_else() {
    let scene = Scene::new();
    let incarnation = make_owner(&scene.queues).await;
    let append = |offset| Append { owner: owner(), incarnation, offset, event: event(offset) };
    let appended: Answer<_> = scene.queues.append(part(), (1..=3).map(append).collect());
    assert_eq!(appended.await.expect("events are queued").queued, 3);
    let failed = |status| Outcome::Failed { reason: FailureReason::Status, status, retry_after: None };
    let over = Arc::new(Notify::new());
    let answers = [Outcome::Delivered, failed(Some(500)), failed(None)];
    let endpoint = Arc::new(Script::new(answers, "event-3", over.clone()));
    let turns = turns(&scene, endpoint.clone());
    let Turns { queues, queued, health, metrics, .. } = &*turns;
    let workers = Workers {
        queues: queues.clone(),
        queued: queued.clone(),
        health: health.clone(),
        metrics: metrics.clone(),
        turns: turns.clone(),
    };
    run(workers.run(pending()), &over).await;
    assert_eq!(*endpoint.asked.lock(), ["event-1", "event-2", "event-2", "event-2", "event-3"]);
}

/// Hangs for all but one.
struct Hanging {
    quick: &'static str,
    told: Arc<Notify>,
}

impl Endpoint for Hanging {
    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        if delivery.url.as_str() != self.quick {
            return pending().boxed();
        }
        self.told.notify_one();
        async { Outcome::Delivered }.boxed()
    }
}

/// Also if none of them was ever tried before.
#[tokio::test]
async fn owners_that_hang_keep_no_other_waiting_for_longer_than_it_takes_to_find_out() {
    let scene = Scene::new();
    let told = Arc::new(Notify::new());
    let endpoint = Arc::new(Hanging { quick: "https://example.com/6", told: told.clone() });
    let slots = Slots::new(2);
    let turns = Arc::new(Turns { endpoint, slots, ..scene_turns(&scene) });
    for number in 0..7 {
        let id: SubscriberId = format!("owner-{number}").parse().expect("it is an id");
        let url = format!("https://example.com/{number}");
        let subscriber = Subscriber { url: url.parse().expect("it is a URL"), ..subscriber() };
        let put = Change::Put { subscriber: Arc::new(subscriber), ends: Offsets::new() };
        let Ok(Changed::Done { version: incarnation, .. }) = scene.queues.change(id.clone(), 0, put).await else {
            panic!("it is made")
        };
        let append = Append { owner: id, incarnation, offset: 1, event: event(1) };
        scene.queues.append(part(), vec![append]).await.expect("it is queued");
    }
    let workers = Workers {
        queues: turns.queues.clone(),
        queued: turns.queued.clone(),
        health: turns.health.clone(),
        metrics: turns.metrics.clone(),
        turns: turns.clone(),
    };
    run(workers.run(pending()), &told).await;
}

/// By the stepped clock of the store, leases seem to be over that are not, or last for ever.
#[tokio::test]
async fn no_lease_is_taken_while_the_clock_is_not_that_of_the_store() {
    let scene = Scene::new();
    let step = Arc::new(AtomicI64::new(10_000));
    let (clock, stepped) = (Arc::new(Clock::starting_at(0, Duration::from_hours(1))), step.clone());
    let time = move || -> Answer<Option<u64>> {
        let told = clock::wall().saturating_add_signed(stepped.load(Ordering::Relaxed));
        Box::pin(async move { Ok(Some(told)) })
    };
    let clock_guard = ClockGuard::new(time, clock, &mut Registry::default());
    clock_guard.look().await;
    let over = Arc::new(Notify::new());
    let endpoint = Arc::new(Script::new([], "event-1", over.clone()));
    let clock_status = clock_guard.clock_status();
    let turns = Arc::new(Turns { endpoint: endpoint.clone(), clock_status, ..scene_turns(&scene) });
    let committed = Arc::new(Notify::new());
    let is_read = Mutex::new(false);
    let source =
        OneEvent { queues: scene.queues.clone(), is_read, queued: Mutex::default(), committed: committed.clone() };
    let cascade = Cascade {
        source: Arc::new(source),
        queues: turns.queues.clone(),
        queued: turns.queued.clone(),
        health: turns.health.clone(),
        metrics: turns.metrics.clone(),
        turns: turns.clone(),
        looks: scene.looks(),
        ids: ContentIds::Number,
        lag: Gauge::default(),
    };
    run(cascade.run(), &committed).await;
    assert_eq!(turns.next_lease(), None);
    let workers = Workers {
        queues: turns.queues.clone(),
        queued: turns.queued.clone(),
        health: turns.health.clone(),
        metrics: turns.metrics.clone(),
        turns: turns.clone(),
    };
    let back = async {
        // Nothing is taken by the workers, which have had their turn by then.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(*endpoint.asked.lock(), [""; 0]);
        step.store(0, Ordering::Relaxed);
        clock_guard.look().await;
        over.notified().await;
    };
    tokio::select! {
        () = workers.run(pending()) => {}
        done = tokio::time::timeout(PATIENCE, back) => done.expect("it is delivered then"),
    }
    assert_eq!(*endpoint.asked.lock(), ["event-1"]);
}
