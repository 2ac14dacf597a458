//! The way of changes to the store: for each lane a committer, for each thread and lane a submit queue.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use tokio::sync::Notify;

use crate::config::Config;
use crate::domain::commit_listener::CommitListener;
use crate::domain::ingest::commit::Committer;
use crate::domain::ingest::health::{IsConnected, LaneHealth, StoreHealth, StoreStatus};
use crate::domain::ingest::intake::Intake;
use crate::domain::ingest::lanes::{LaneOf, Lanes};
use crate::domain::ingest::metrics::{Metrics, UncommittedSlots};
use crate::domain::ingest::submit_queue::{Completions, SubmitQueue};
use crate::domain::ingest::watch::Watch;
use crate::domain::rewards::judge::Judge;
use crate::domain::time::clock::Clock;
use crate::model::retention::Retention;
use crate::model::rule::Admission;
use crate::storage::hot_store::HotStore;

pub(super) struct StoreLanes {
    /// One for each lane.
    pub committers: Vec<Committer>,
    pub watch: Watch,
    pub health: Arc<StoreHealth>,
    /// One for each thread that takes changes in, with what brings its answers back.
    pub threads: Vec<(Lanes, Vec<Completions>)>,
}

/// What all lanes share.
pub(super) struct Shared<'c> {
    pub config: &'c Config,
    pub store: Arc<dyn HotStore>,
    pub clock: Arc<Clock>,
    pub judge: Arc<Judge>,
    pub listeners: Vec<Arc<dyn CommitListener>>,
}

impl StoreLanes {
    pub fn build(shared: &Shared, threads: usize, registry: &mut Registry) -> Self {
        let Shared { config, store, clock, judge, listeners } = shared;
        let metrics = Metrics::new(registry);
        let admission = Admission { retention: Retention::of(config.store.retention) };
        let mut committers = Vec::new();
        let mut of_threads: Vec<_> = (0..threads).map(|_| (Vec::new(), Vec::new())).collect();
        // All lanes of a thread together have as much room as one.
        let weight_max = SubmitQueue::WEIGHT_MAX / store.lanes();
        for _ in 0..store.lanes() {
            let wake = Arc::new(Notify::new());
            let mut submit_queues = Vec::new();
            for (intakes, completions) in &mut of_threads {
                let (submit_queue, of_queue) = SubmitQueue::new(wake.clone(), weight_max);
                submit_queues.push(submit_queue.clone());
                intakes.push(Intake { submit_queue, admission, clock: clock.clone(), metrics: metrics.clone() });
                completions.push(of_queue);
            }
            committers.push(Committer {
                store: store.clone(),
                clock: clock.clone(),
                judge: judge.clone(),
                submit_queues,
                listeners: listeners.clone(),
                wake,
                interval: config.store.group_interval,
                health: Arc::<LaneHealth>::default(),
                metrics: metrics.clone(),
            });
        }
        let submit_queues = committers.iter().flat_map(|committer| committer.submit_queues.iter().cloned());
        registry.register_collector(Box::new(UncommittedSlots(submit_queues.collect())));
        let lanes = committers.iter().map(|committer| committer.health.clone()).collect();
        let health = Arc::new(StoreHealth::new(lanes, lane_of(store), is_connected(store)));
        registry.register_collector(Box::new(StoreStatus(health.clone())));
        let watched = store.clone();
        let watch = Watch { store_failure: Box::new(move || watched.failure()), health: health.clone() };
        let lanes = |(intakes, completions)| (Lanes::new(intakes, lane_of(store)), completions);
        StoreLanes { committers, watch, health, threads: of_threads.into_iter().map(lanes).collect() }
    }
}

fn is_connected(store: &Arc<dyn HotStore>) -> IsConnected {
    let store = store.clone();
    Box::new(move |shard| store.is_connected(shard))
}

fn lane_of(store: &Arc<dyn HotStore>) -> LaneOf {
    let store = store.clone();
    Box::new(move |shard| store.lane(shard))
}
