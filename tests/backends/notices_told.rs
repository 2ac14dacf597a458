//! The publisher on the embedded store, with a bus in memory.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use heartline::domain::notices::{NoticeHealth, Publisher};
use heartline::domain::time::clock::{self, Clock};
use heartline::model::beat::{Beat, State};
use heartline::model::change::{Action, Change};
use heartline::model::cloud_event::Source;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::notices::Followed;
use heartline::model::rewards::rule::RuleSet;
use heartline::storage::delivery::Delivery;
use heartline::storage::event_bus::{Event, EventBus, EventTopic};
use heartline::storage::hot_store::config::{Backend, Config};
use heartline::storage::hot_store::{Group, Positions};
use heartline::storage::notices::Notices;
use heartline::storage_embedded::hot_store::EmbeddedStore;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tempfile::TempDir;
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(30);
const ITEM: Content = Content { kind: 1, oid: 100 };

/// Takes events one by one, or refuses all.
#[derive(Default)]
struct MemoryBus {
    away: AtomicBool,
    /// Type and id of each.
    events: Mutex<Vec<(String, String)>>,
}

impl EventBus for MemoryBus {
    fn publish(&self, events: Vec<Event>) {
        for Event { topic, cloud_event, receipt } in events {
            assert_eq!(topic, EventTopic::Positions);
            if self.away.load(Ordering::Relaxed) {
                receipt.report(Delivery::Refused("a test".to_owned()));
                continue;
            }
            let short = cloud_event.kind.trim_start_matches("dev.heartline.").trim_end_matches(".v1");
            self.events.lock().push((short.to_owned(), cloud_event.id));
            receipt.report(Delivery::Published);
        }
    }
}

fn open(directory: &TempDir) -> EmbeddedStore {
    let config = Config {
        hot_store: Backend::Embedded,
        data_dir: directory.path().to_owned(),
        group_interval: Duration::ZERO,
        steady_hold: Duration::ZERO,
        ready_share: 1.0,
        // Beats of the past are kept, on the other side of midnight, too.
        retention: Duration::from_hours(90 * 24),
        records_per_user: NonZeroU32::MAX,
        accept_clock_before_store: false,
        clock_step_max: Duration::from_hours(1),
        user_cache: NonZeroUsize::MIN,
        cache_bytes: 1 << 20,
        prune_interval: Duration::from_hours(1),
    };
    EmbeddedStore::open(&config, Arc::new(clock::wall)).expect("a store")
}

struct Scene {
    store: Arc<EmbeddedStore>,
    bus: Arc<MemoryBus>,
    left: Arc<Notify>,
    now: u64,
    directory: TempDir,
}

impl Scene {
    fn new(followed: Followed) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Arc::new(open(&directory));
        store.followed().set(followed, Instant::now(), PATIENCE);
        // In the past: everything is due.
        let now = clock::wall() - 3_600_000;
        Scene { store, bus: Arc::default(), left: Arc::default(), now, directory }
    }

    async fn commit(&self, user: u64, action: Action) {
        let group = Group::unrewarded(self.now, vec![Change { user: UserId(user), action }]);
        self.store.commit(&group).await.expect("a commit");
        self.left.notify_one();
    }

    async fn beat(&self, user: u64, content: Content, later: u64) {
        let session = SessionId(7);
        let at = self.now + later;
        let beat =
            Beat { content, pos: later, dur: 0, state: State::Playing, session, watched: Some(1), rate: 1.0, at };
        self.commit(user, Action::beat(beat, "tv".into(), RuleSet::NONE)).await;
    }

    fn publisher(&self) -> Publisher {
        Publisher {
            notices: self.store.clone(),
            records: self.store.clone(),
            bus: self.bus.clone(),
            clock: Arc::new(Clock::starting_at(0, Duration::from_hours(1))),
            source: Source::of("local"),
            left: self.left.clone(),
            health: Arc::new(NoticeHealth::new(&mut Registry::default())),
            names: None,
            contents: None,
        }
    }

    async fn left_over(&self) -> usize {
        self.store.take(u64::MAX - 1, 1_000).await.expect("notices").len()
    }

    /// Runs the publisher until nothing is left, and returns what was published.
    async fn published(&self) -> Vec<(String, String)> {
        let empty = async {
            while self.left_over().await > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = self.publisher().run() => {}
            () = empty => {}
            () = tokio::time::sleep(PATIENCE) => panic!("notices are left"),
        }
        std::mem::take(&mut *self.bus.events.lock())
    }

    fn position(&self, user: u64, content: Content, later: u64) -> (String, String) {
        ("position".to_owned(), format!("{user}:{content}:{}", (self.now + later) * 1_000))
    }
}

fn kinds(events: &[(String, String)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

#[tokio::test]
async fn of_many_beats_the_newest_is_told_once() {
    let scene = Scene::new(Followed::ALL);
    for later in 0..5 {
        scene.beat(42, ITEM, later).await;
    }
    assert_eq!(scene.left_over().await, 2, "the new position, and the steady ones");
    assert_eq!(scene.published().await, [scene.position(42, ITEM, 4)]);
}

#[tokio::test]
async fn what_was_forgotten_is_told_and_the_record_is_not() {
    let scene = Scene::new(Followed::ALL);
    let other = Content { oid: 101, ..ITEM };
    scene.beat(42, ITEM, 0).await;
    scene.beat(42, other, 1).await;
    scene.commit(42, Action::Delete { contents: vec![ITEM], at: scene.now }).await;
    let published = scene.published().await;
    assert_eq!(kinds(&published), ["forgotten", "position"]);
    assert_eq!(published[1], scene.position(42, other, 1));
    scene.commit(42, Action::Clear { at: scene.now + 5 }).await;
    scene.commit(42, Action::Erase { at: scene.now }).await;
    let published = scene.published().await;
    assert_eq!(kinds(&published), ["forgotten", "forgotten"]);
    assert_ne!(published[0].1, published[1].1, "each has an id of its own");
}

#[tokio::test]
async fn what_the_bus_refuses_stays_and_is_told_later() {
    let scene = Scene::new(Followed::ALL);
    scene.bus.away.store(true, Ordering::Relaxed);
    scene.beat(42, ITEM, 0).await;
    scene.commit(43, Action::Erase { at: scene.now }).await;
    let health = {
        let publisher = scene.publisher();
        let health = publisher.health.clone();
        let refused = async {
            while health.degraded().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = publisher.run() => {}
            () = refused => {}
            () = tokio::time::sleep(PATIENCE) => panic!("nothing was refused"),
        }
        health
    };
    assert_eq!(health.degraded(), ["position events wait: event bus unavailable: a test"]);
    assert_eq!(scene.left_over().await, 2);
    scene.beat(42, ITEM, 1).await;
    scene.bus.away.store(false, Ordering::Relaxed);
    let mut published = scene.published().await;
    published.sort();
    assert_eq!(kinds(&published), ["forgotten", "position"]);
    assert_eq!(published[1], scene.position(42, ITEM, 1), "as it is when it is told");
}

#[tokio::test]
async fn what_is_not_followed_any_more_goes_untold() {
    let scene = Scene::new(Followed::ALL);
    scene.beat(42, ITEM, 0).await;
    scene.commit(42, Action::Erase { at: scene.now }).await;
    scene.store.followed().set(Followed::NONE, Instant::now(), PATIENCE);
    assert_eq!(scene.left_over().await, 2);
    assert!(scene.published().await.is_empty());
    scene.beat(42, ITEM, 10_000_000).await;
    assert_eq!(scene.left_over().await, 0, "and nothing is left from now on");
}

#[tokio::test]
async fn notices_survive_a_restart() {
    let Scene { store, now, directory, .. } = Scene::new(Followed::ALL);
    let beat = |pos| {
        let (content, state, session) = (ITEM, State::Playing, SessionId(7));
        let beat = Beat { content, pos, dur: 0, state, session, watched: Some(1), rate: 1.0, at: now + pos };
        let action = Action::beat(beat, "tv".into(), RuleSet::NONE);
        Group::unrewarded(now, vec![Change { user: UserId(42), action }])
    };
    for pos in 0..3 {
        store.commit(&beat(pos)).await.expect("a commit");
    }
    drop(store);
    let store = open(&directory);
    store.followed().set(Followed::ALL, Instant::now(), PATIENCE);
    let mut keys: Vec<_> = store.take(now, 10).await.expect("notices").into_iter().map(|taken| taken.key).collect();
    assert_eq!(keys.len(), 1, "what is due at once");
    store.commit(&beat(3)).await.expect("a commit");
    keys.extend(store.take(now + 30_000, 10).await.expect("notices").into_iter().map(|taken| taken.key));
    assert_eq!(keys.len(), 3, "the first comes again, and one waits for all steady beats");
}
