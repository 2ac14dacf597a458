//! Universal counters: numbers by key.

pub mod config;
mod metrics;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;

use self::config::CountersConfig;
use self::metrics::{Metrics, Operation};
use super::outbox::relay_notify::RelayNotify;
use super::time::clock::Clock;
use model::counters::direct::{Added, DirectCounter, DirectDefinitions};
use model::counters::{CounterId, CounterKey, Recount};
use storage::counters::{Addition, CounterReads, CountersError, DerivedCounters, DirectCounters};
use storage::outbox::Outbox;

/// How long an answer may take before its asker is told to try again.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The store did not answer, or not in time. An addition that was sent with an id may be sent again.
#[derive(Debug, thiserror::Error)]
pub enum CountersUnavailable {
    #[error("hot store unavailable")]
    Hot,
    #[error("statistics store unavailable")]
    Statistics,
    #[error("outbox full: steps that cross a threshold are refused until events are published")]
    OutboxFull,
    #[error("the counter is being counted")]
    Counting,
    #[error("counters are not answered in time")]
    Late,
}

/// A counter of the settings, and how it is counted.
#[derive(Clone)]
pub enum Counter {
    /// By requests.
    Direct(Arc<DirectCounter>),
    /// By what the stored records are.
    Derived(Arc<DerivedCounter>),
}

/// A derived counter of the settings.
pub struct DerivedCounter {
    pub id: CounterId,
    /// The names of the fields that its keys are made of.
    pub key: Vec<String>,
}

/// The stores of both sorts of counters, where there are any.
pub struct CounterStores {
    pub direct: Option<Arc<dyn DirectCounters>>,
    pub derived: Option<Arc<dyn DerivedCounters>>,
}

/// The counters of the settings.
pub struct Counters {
    definitions: DirectDefinitions,
    derived: Vec<Arc<DerivedCounter>>,
    stores: CounterStores,
    outbox: Arc<dyn Outbox>,
    /// Entries with which the outbox is full.
    outbox_max: u64,
    notify: Arc<RelayNotify>,
    clock: Arc<Clock>,
    metrics: Metrics,
}

/// The outbox for the events of crossed thresholds, and the notification of its relay.
pub struct CrossingEvents {
    pub outbox: Arc<dyn Outbox>,
    /// Entries with which the outbox is full.
    pub outbox_max: u64,
    /// Wakes the relay.
    pub notify: Arc<RelayNotify>,
}

impl Counter {
    pub fn id(&self) -> &CounterId {
        match self {
            Counter::Direct(counter) => &counter.id,
            Counter::Derived(counter) => &counter.id,
        }
    }

    /// The names of the parts that each key has.
    pub fn parts(&self) -> &[String] {
        match self {
            Counter::Direct(counter) => &counter.key,
            Counter::Derived(counter) => &counter.key,
        }
    }
}

impl Counters {
    pub fn new(
        config: &CountersConfig,
        stores: CounterStores,
        events: CrossingEvents,
        clock: Arc<Clock>,
        registry: &mut Registry,
    ) -> Self {
        let CrossingEvents { outbox, outbox_max, notify } = events;
        let metrics = Metrics::new(registry);
        let derived = config.derived.iter().map(|definition| {
            let key = definition.key.iter().map(|field| field.word().to_owned()).collect();
            Arc::new(DerivedCounter { id: definition.id.clone(), key })
        });
        let (definitions, derived) = (config.direct(), derived.collect());
        Counters { definitions, derived, stores, outbox, outbox_max, notify, clock, metrics }
    }

    pub fn of(&self, id: &CounterId) -> Option<Counter> {
        if let Some(derived) = self.derived.iter().find(|counter| counter.id == *id) {
            return Some(Counter::Derived(derived.clone()));
        }
        Some(Counter::Direct(self.definitions.of(id)?.clone()))
    }

    /// In the order asked.
    pub async fn values(&self, counter: &Counter, keys: Vec<CounterKey>) -> Result<Vec<i64>, CountersUnavailable> {
        self.in_time(Operation::Values, self.reads(counter)?.values(counter.id().clone(), keys)).await
    }

    /// The largest values of keys that begin with the parts of `prefix`, at most `limit`.
    pub async fn top(
        &self,
        counter: &Counter,
        prefix: CounterKey,
        limit: usize,
    ) -> Result<Vec<(CounterKey, i64)>, CountersUnavailable> {
        self.in_time(Operation::Top, self.reads(counter)?.top(counter.id().clone(), prefix, limit)).await
    }

    /// Adds `by` to a key, once if the request has an id.
    pub async fn add(
        &self,
        counter: &Arc<DirectCounter>,
        key: CounterKey,
        by: i64,
        id: Option<Arc<str>>,
    ) -> Result<Added, CountersUnavailable> {
        let addition = Addition { counter: counter.clone(), key, by, id, now: self.clock.now() };
        let added = self.in_time(Operation::Add, self.direct()?.add(addition)).await?;
        self.metrics.added(added);
        if matches!(added, Added::Done { crossed: 1.., .. }) {
            self.notify.notify(self.outbox.len() >= self.outbox_max / 2);
        }
        Ok(added)
    }

    /// Back to the initial value.
    pub async fn reset(&self, counter: &Arc<DirectCounter>, key: CounterKey) -> Result<(), CountersUnavailable> {
        self.in_time(Operation::Reset, self.direct()?.reset(counter.id.clone(), key)).await
    }

    /// Counts all records anew for a derived counter, and compares these keys; none: all of them. Returns the name of
    /// the recount.
    pub async fn recount(
        &self,
        counter: &DerivedCounter,
        keys: Vec<CounterKey>,
    ) -> Result<String, CountersUnavailable> {
        let recount = self.derived()?.recount(counter.id.clone(), keys, self.clock.now());
        self.in_time(Operation::Recount, recount).await
    }

    /// The recount, and its counter. `None`: there is none of this name, or it ended long ago.
    pub async fn recounted(&self, name: String) -> Result<Option<(CounterId, Recount)>, CountersUnavailable> {
        let Some(derived) = &self.stores.derived else { return Ok(None) };
        self.in_time(Operation::Recount, derived.recounted(name, self.clock.now())).await
    }

    /// The store that counts this counter.
    fn reads(&self, counter: &Counter) -> Result<&dyn CounterReads, CountersUnavailable> {
        match counter {
            Counter::Direct(_) => Ok(self.direct()?),
            Counter::Derived(_) => Ok(self.derived()?),
        }
    }

    /// Each counter of the settings has a store of its sort.
    fn direct(&self) -> Result<&dyn DirectCounters, CountersUnavailable> {
        self.stores.direct.as_deref().ok_or(CountersUnavailable::Hot)
    }

    fn derived(&self) -> Result<&dyn DerivedCounters, CountersUnavailable> {
        self.stores.derived.as_deref().ok_or(CountersUnavailable::Statistics)
    }

    async fn in_time<T>(
        &self,
        operation: Operation,
        answer: impl Future<Output = Result<T, CountersError>>,
    ) -> Result<T, CountersUnavailable> {
        let measured = self.metrics.begin(operation);
        let answer = tokio::time::timeout(TIMEOUT, answer).await;
        measured.observe();
        let (unavailable, why) = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => (CountersUnavailable::of(&error), error.to_string()),
            Err(_) => (CountersUnavailable::Late, format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        tracing::warn!(event = "counters_failed", operation = operation.name(), error = %why, "counters unavailable");
        self.metrics.failed(operation);
        Err(unavailable)
    }
}

impl CountersUnavailable {
    fn of(error: &CountersError) -> Self {
        match error {
            CountersError::Hot(_) => CountersUnavailable::Hot,
            CountersError::Statistics(_) => CountersUnavailable::Statistics,
            CountersError::OutboxFull => CountersUnavailable::OutboxFull,
            CountersError::Counting => CountersUnavailable::Counting,
        }
    }
}
