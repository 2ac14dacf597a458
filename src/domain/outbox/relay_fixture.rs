//! An outbox and an event bus in memory, and a relay between them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::task::JoinHandle;

use super::*;
use model::fixtures::claim;
use model::ids::SessionId;
use model::outbox_entry::OutboxEntry;
use model::rewards::claim::Claim;
use storage::event_bus::Event;
use storage::hot_store::{Answer, StoreError};

/// The tolerance of the fixture, which polls.
pub const MOMENT: Duration = Duration::from_millis(2);

/// Each entry is the claim of one user and one session, which is its number.
pub struct MemoryOutbox {
    entries: Mutex<BTreeMap<OutboxNumber, OutboxEntry>>,
    added: AtomicU64,
    pub reads: AtomicBool,
    pub removes: AtomicBool,
}

/// Keeps the events that it was given.
pub struct MemoryBus {
    pub complaints: Mutex<Vec<String>>,
    pub atomic: AtomicBool,
    pub calls: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    mood: Mood,
    /// Users and sessions, as they were published.
    published: Vec<(u64, u64)>,
    /// As they were handed over.
    handed: Vec<(u64, u64)>,
    unreported: Vec<Event>,
}

#[derive(Clone, Copy, Default)]
pub enum Mood {
    #[default]
    Takes,
    Refuses,
    /// Keeps events, and reports them when it takes them again.
    Waits,
    /// Keeps the events of these users only.
    WaitsFor(fn(u64) -> bool),
}

impl MemoryOutbox {
    /// An outbox with so many entries, of the users 1, 2, 3, …
    pub fn with(entries: u64) -> Arc<Self> {
        let outbox = MemoryOutbox {
            entries: Mutex::default(),
            added: AtomicU64::new(0),
            reads: AtomicBool::new(true),
            removes: AtomicBool::new(true),
        };
        outbox.add(entries);
        Arc::new(outbox)
    }

    pub fn add(&self, entries: u64) {
        let added = self.added.load(Ordering::Relaxed);
        self.add_of(added + 1..=added + entries);
    }

    pub fn add_of(&self, users: impl IntoIterator<Item = u64>) {
        for user in users {
            let number = self.added.fetch_add(1, Ordering::Relaxed) + 1;
            let claim = Claim { session: SessionId(number), ..claim(user) };
            self.entries.lock().insert(number, OutboxEntry::Claim(claim));
        }
    }

    /// The users whose entries are there, in their order.
    pub fn users(&self) -> Vec<u64> {
        self.entries
            .lock()
            .values()
            .cloned()
            .filter_map(OutboxEntry::into_claim)
            .map(|claim| claim.key.user.0)
            .collect()
    }
}

impl Outbox for MemoryOutbox {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        let entries = self.entries.lock();
        let some = entries.range(after + 1..).take(limit).map(|(number, entry)| (*number, entry.clone())).collect();
        let reads = self.reads.load(Ordering::Relaxed);
        Box::pin(async move { reads.then_some(some).ok_or_else(|| StoreError::Away("a test".into())) })
    }

    fn remove(&self, numbers: Vec<OutboxNumber>) -> Answer<()> {
        let removes = self.removes.load(Ordering::Relaxed);
        if removes {
            self.entries.lock().retain(|number, _| !numbers.contains(number));
        }
        Box::pin(async move { removes.then_some(()).ok_or_else(|| StoreError::Away("a test".into())) })
    }

    fn len(&self) -> u64 {
        self.entries.lock().len() as u64
    }
}

impl MemoryBus {
    pub fn new() -> Arc<Self> {
        Arc::new(MemoryBus {
            complaints: Mutex::default(),
            atomic: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            state: Mutex::default(),
        })
    }

    /// Changes the mood. Kept events are handled by the new one.
    pub fn is_in(&self, mood: Mood) {
        let mut state = self.state.lock();
        state.mood = mood;
        let kept = std::mem::take(&mut state.unreported);
        kept.into_iter().for_each(|event| state.take(event));
    }

    /// Reports all kept events of this user as of unknown outcome.
    pub fn give_up(&self, user: u64) {
        let mut state = self.state.lock();
        let given_up = state.unreported.extract_if(.., |event| told(event).0 == user);
        given_up.for_each(|event| event.receipt.report(Delivery::Unknown("a test".into())));
    }

    /// The users whose events were published, in their order.
    pub fn users(&self) -> Vec<u64> {
        self.published().into_iter().map(|(user, _)| user).collect()
    }

    pub fn published(&self) -> Vec<(u64, u64)> {
        self.state.lock().published.clone()
    }

    /// How many events of this user were handed over, repeats included.
    pub fn handed(&self, user: u64) -> usize {
        self.state.lock().handed.iter().filter(|(of, _)| *of == user).count()
    }
}

/// The user and the session of the event's claim.
fn told(event: &Event) -> (u64, u64) {
    let event: serde_json::Value = serde_json::from_str(&event.cloud_event.to_json()).expect("an event");
    let number = |name: &str| event["data"][name].as_str().and_then(|text| text.parse().ok()).expect(name);
    (number("mid"), number("session"))
}

impl State {
    fn take(&mut self, event: Event) {
        let (user, number) = told(&event);
        match self.mood {
            Mood::Refuses => event.receipt.report(Delivery::Refused("a test".into())),
            Mood::Waits => self.unreported.push(event),
            Mood::WaitsFor(users) if users(user) => self.unreported.push(event),
            Mood::Takes | Mood::WaitsFor(_) => {
                self.published.push((user, number));
                event.receipt.report(Delivery::Published);
            }
        }
    }
}

impl EventBus for MemoryBus {
    fn publish(&self, events: Vec<Event>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        for event in events {
            state.handed.push(told(&event));
            state.take(event);
        }
    }

    fn is_atomic(&self) -> bool {
        self.atomic.load(Ordering::Relaxed)
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.lock().clone()
    }
}

pub struct Fixture {
    pub outbox: Arc<MemoryOutbox>,
    pub bus: Arc<MemoryBus>,
    pub notify: Arc<RelayNotify>,
    pub health: Arc<BusHealth>,
    relay: JoinHandle<()>,
}

impl Fixture {
    /// A relay that runs from now on.
    pub fn start(entries: u64, mood: Mood) -> Self {
        let bus = MemoryBus::new();
        bus.is_in(mood);
        Self::between(MemoryOutbox::with(entries), bus)
    }

    pub fn between(outbox: Arc<MemoryOutbox>, bus: Arc<MemoryBus>) -> Self {
        let notify = Arc::new(RelayNotify::default());
        let health = BusHealth::new(bus.clone(), outbox.clone(), 100_000, &mut Registry::default());
        let relay = Relay {
            outbox: outbox.clone(),
            bus: bus.clone(),
            notify: notify.clone(),
            health: health.clone(),
            source: Source::of("local"),
            names: None,
            contents: None,
        };
        let relay = tokio::spawn(relay.run());
        Fixture { outbox, bus, notify, health, relay }
    }

    /// Stops the relay and starts one of the next process.
    pub fn restart(self) -> Self {
        self.relay.abort();
        Self::between(self.outbox, self.bus)
    }

    /// How long it takes until the outbox is empty.
    pub async fn drained(&self) -> Duration {
        let began = Instant::now();
        while !self.outbox.is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
        began.elapsed()
    }
}
