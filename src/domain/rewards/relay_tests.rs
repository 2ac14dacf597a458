use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::*;
use crate::storage::event_bus::BusError;
use crate::storage::event_bus::cloud_event::tests::claim;
use crate::storage::hot_store::{Answer, StoreError};

/// By so much the fixture looks late.
const MOMENT: Duration = Duration::from_millis(2);

/// Entry N is the claim of user N.
pub struct MemoryOutbox {
    entries: Mutex<Vec<OutboxNumber>>,
    added: AtomicUsize,
    reads: AtomicBool,
    removes: AtomicBool,
}

/// Keeps the users whose events it was given.
pub struct MemoryBus {
    pub complaints: Mutex<Vec<String>>,
    events: Mutex<Vec<u64>>,
    batches: AtomicUsize,
    mood: Mutex<Mood>,
    back: Notify,
}

#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Takes,
    Refuses,
    /// Answers when it takes them again.
    Waits,
}

impl MemoryOutbox {
    pub fn with(entries: u64) -> Arc<Self> {
        let outbox = MemoryOutbox {
            entries: Mutex::default(),
            added: AtomicUsize::new(0),
            reads: AtomicBool::new(true),
            removes: AtomicBool::new(true),
        };
        outbox.add(entries);
        Arc::new(outbox)
    }

    pub fn add(&self, entries: u64) {
        for _ in 0..entries {
            let number = self.added.fetch_add(1, Ordering::Relaxed) as u64 + 1;
            self.entries.lock().expect("no panic").push(number);
        }
    }
}

impl Outbox for MemoryOutbox {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, Claim)>> {
        let entries = self.entries.lock().expect("no panic");
        let some = entries.iter().filter(|number| **number > after).take(limit);
        let some = some.map(|number| (*number, claim(*number))).collect();
        let reads = self.reads.load(Ordering::Relaxed);
        Box::pin(async move { reads.then_some(some).ok_or_else(|| StoreError::Away("a test".into())) })
    }

    fn remove(&self, up_to: OutboxNumber) -> Answer<()> {
        let removes = self.removes.load(Ordering::Relaxed);
        if removes {
            self.entries.lock().expect("no panic").retain(|number| *number > up_to);
        }
        Box::pin(async move { removes.then_some(()).ok_or_else(|| StoreError::Away("a test".into())) })
    }

    fn len(&self) -> u64 {
        self.entries.lock().expect("no panic").len() as u64
    }
}

impl MemoryBus {
    pub fn new() -> Arc<Self> {
        Arc::new(MemoryBus {
            complaints: Mutex::default(),
            events: Mutex::default(),
            batches: AtomicUsize::new(0),
            mood: Mutex::new(Mood::Takes),
            back: Notify::new(),
        })
    }

    fn is_in(&self, mood: Mood) {
        *self.mood.lock().expect("no panic") = mood;
        self.back.notify_waiters();
    }

    fn mood(&self) -> Mood {
        *self.mood.lock().expect("no panic")
    }

    fn events(&self) -> Vec<u64> {
        self.events.lock().expect("no panic").clone()
    }
}

impl EventBus for MemoryBus {
    fn publish<'a>(&'a self, claims: &'a [Claim]) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            self.batches.fetch_add(1, Ordering::Relaxed);
            loop {
                let back = self.back.notified();
                match self.mood() {
                    Mood::Takes => break,
                    Mood::Refuses => return Err(BusError("a test".into())),
                    Mood::Waits => back.await,
                }
            }
            self.events.lock().expect("no panic").extend(claims.iter().map(|claim| claim.key.user.0));
            Ok(())
        })
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.lock().expect("no panic").clone()
    }
}

struct Fixture {
    outbox: Arc<MemoryOutbox>,
    bus: Arc<MemoryBus>,
    bell: Arc<ClaimBell>,
    health: Arc<BusHealth>,
}

impl Fixture {
    /// A relay that runs from now on.
    fn start(entries: u64, mood: Mood) -> Self {
        let (outbox, bus, bell) = (MemoryOutbox::with(entries), MemoryBus::new(), Arc::new(ClaimBell::default()));
        bus.is_in(mood);
        let health = BusHealth::new(bus.clone(), outbox.clone(), 100_000, &mut Registry::default());
        let relay = Relay { outbox: outbox.clone(), bus: bus.clone(), bell: bell.clone(), health: health.clone() };
        tokio::spawn(relay.run());
        Fixture { outbox, bus, bell, health }
    }

    /// How long it takes until the outbox is empty.
    async fn drained(&self) -> Duration {
        let began = Instant::now();
        while !self.outbox.is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
        began.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn all_that_is_there_is_published_in_its_order_in_large_batches() {
    let fixture = Fixture::start(10_000, Mood::Takes);
    assert!(fixture.drained().await <= MOMENT, "a full batch is followed by the next");
    assert_eq!(fixture.bus.events(), (1..=10_000).collect::<Vec<_>>());
    assert_eq!(fixture.bus.batches.load(Ordering::Relaxed), 10_000_usize.div_ceil(BATCH_MAX));
}

#[tokio::test(start_paused = true)]
async fn who_rings_is_heard_soon_and_who_does_not_is_seen() {
    let fixture = Fixture::start(1, Mood::Takes);
    fixture.drained().await;
    fixture.outbox.add(1);
    fixture.bell.ring(false);
    let behind_another = fixture.drained().await;
    assert!(behind_another > PACE / 2 && behind_another <= PACE + MOMENT, "{behind_another:?}");
    sleep(PACE).await;
    fixture.outbox.add(1);
    fixture.bell.ring(false);
    assert!(fixture.drained().await <= MOMENT, "nothing was published of late");
    fixture.outbox.add(1);
    fixture.bell.ring(true);
    assert!(fixture.drained().await <= MOMENT, "the outbox fills up");
    fixture.outbox.add(1);
    let unasked = fixture.drained().await;
    assert!(unasked > PACE && unasked <= LOOK_EVERY + MOMENT, "{unasked:?}");
    assert_eq!(fixture.bus.events(), [1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn what_a_bus_refuses_stays_and_is_published_soon_after_it_is_back() {
    let fixture = Fixture::start(3, Mood::Refuses);
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!((fixture.outbox.len(), fixture.health.degraded().len()), (3, 1));
    fixture.bus.is_in(Mood::Takes);
    assert!(fixture.drained().await <= RETRY_MAX + MOMENT);
    assert_eq!((fixture.bus.events(), fixture.health.degraded().len()), (vec![1, 2, 3], 0));
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_does_not_answer_is_away_and_is_waited_for() {
    let fixture = Fixture::start(3, Mood::Waits);
    sleep(ANSWER_MAX - Duration::from_millis(1)).await;
    assert!(fixture.health.degraded().is_empty());
    sleep(Duration::from_secs(60)).await;
    assert_eq!((fixture.outbox.len(), fixture.health.degraded().len()), (3, 1));
    fixture.bus.is_in(Mood::Takes);
    assert!(fixture.drained().await <= MOMENT);
    assert_eq!((fixture.bus.batches.load(Ordering::Relaxed), fixture.health.degraded().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_removed_is_removed_later_and_not_published_again() {
    let fixture = Fixture::start(0, Mood::Takes);
    fixture.outbox.removes.store(false, Ordering::Relaxed);
    fixture.outbox.add(3);
    sleep(LOOK_EVERY * 3).await;
    assert_eq!((fixture.bus.events(), fixture.outbox.len()), (vec![1, 2, 3], 3));
    fixture.outbox.removes.store(true, Ordering::Relaxed);
    assert!(fixture.drained().await <= LOOK_EVERY + MOMENT);
    assert_eq!(fixture.bus.events(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_outbox_that_is_read_again_and_empty_is_well() {
    let fixture = Fixture::start(0, Mood::Takes);
    fixture.outbox.reads.store(false, Ordering::Relaxed);
    sleep(LOOK_EVERY * 2).await;
    assert_eq!(fixture.health.degraded().len(), 1);
    fixture.outbox.reads.store(true, Ordering::Relaxed);
    sleep(RETRY_MAX).await;
    assert!(fixture.health.degraded().is_empty());
}
