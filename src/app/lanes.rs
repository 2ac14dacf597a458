//! The way of changes to the store: for each lane a committer, for each thread and lane a submit queue.

use std::sync::Arc;

use tokio::sync::Notify;

use super::assembly::Assembly;
use super::common::Common;
use domain::cold::ColdReader;
use domain::ingest::commit::Committer;
use domain::ingest::health::{IsConnected, LaneHealth, StoreHealth, StoreStatus, Troubles};
use domain::ingest::hold_index::HoldIndex;
use domain::ingest::intake::Intake;
use domain::ingest::lanes::{LaneOf, Lanes};
use domain::ingest::metrics::{Metrics, WaitingEntries};
use domain::ingest::removals::RemovalCount;
use domain::ingest::submit_queue::{Completions, SubmitQueue};
use domain::ingest::unreadable::UnreadableLog;
use domain::ingest::user_trace::UserTrace;
use domain::ingest::watch::Watch;
use domain::rewards::judge::Judge;
use domain::time::clock::Clock;
use model::retention::Retention;
use model::rule::Admission;
use storage::hot_store::RecordStore;
use storage::hot_store::config::Config;

/// Gives intakes out to any number of threads, and ends as [`Commits`].
pub(super) struct StoreLanes {
    lanes: Vec<Lane>,
    store: Arc<dyn RecordStore>,
    clock: Arc<Clock>,
    config: Config,
    metrics: Metrics,
    holds: Option<Arc<HoldIndex>>,
    cold: Option<Arc<ColdReader>>,
    trace: UserTrace,
    pub health: Arc<StoreHealth>,
}

#[derive(Default)]
struct Lane {
    wake: Arc<Notify>,
    health: Arc<LaneHealth>,
    submit_queues: Vec<Arc<SubmitQueue>>,
}

/// Where a thread hands changes in, and what brings the answers back to it.
pub(super) struct StoreIntake {
    pub lanes: Lanes,
    pub completions: Vec<Completions>,
}

/// The committers, for a thread of their own.
pub(super) struct Commits {
    /// One for each lane.
    pub committers: Vec<Committer>,
    pub watch: Watch,
}

impl StoreLanes {
    pub fn build(config: &Config, common: &Common, assembly: &mut Assembly) -> Self {
        let registry = assembly.metrics();
        let unreadable = Arc::new(UnreadableLog::new(common.mid_hash.clone(), registry));
        let removals = Arc::new(RemovalCount::new(registry));
        let metrics = Metrics::new(registry);
        let store = common.hot.clone();
        let lanes: Vec<_> = (0..store.lanes()).map(|_| Lane::default()).collect();
        let of_lanes = lanes.iter().map(|lane| lane.health.clone()).collect();
        let health = Arc::new(StoreHealth::new(of_lanes, lane_of(&store), is_connected(&store), troubles(&store)));
        registry.register_collector(Box::new(StoreStatus(health.clone())));
        assembly.commit_listeners.push(unreadable);
        assembly.commit_listeners.push(removals);
        let (clock, holds, cold) = (common.clock.clone(), common.holds.clone(), common.cold.clone());
        let config = config.clone();
        let trace = UserTrace::new(common.mid_hash.clone());
        StoreLanes { lanes, store, clock, config, metrics, holds, cold, trace, health }
    }

    /// For one more thread.
    pub fn intake(&mut self) -> StoreIntake {
        let admission = Admission { retention: Retention::of(self.config.retention) };
        // All lanes of a thread together have as much room as one.
        let weight_max = SubmitQueue::WEIGHT_MAX / self.lanes.len();
        let (mut intakes, mut completions) = (Vec::new(), Vec::new());
        for lane in &mut self.lanes {
            let (wake, holds, trace) = (lane.wake.clone(), self.holds.clone(), self.trace.clone());
            let (submit_queue, of_queue) = SubmitQueue::new(wake, weight_max, holds, self.cold.clone(), trace);
            lane.submit_queues.push(submit_queue.clone());
            let (clock, metrics) = (self.clock.clone(), self.metrics.clone());
            intakes.push(Intake { submit_queue, admission, clock, metrics });
            completions.push(of_queue);
        }
        StoreIntake { lanes: Lanes::new(intakes, lane_of(&self.store)), completions }
    }

    /// When all intakes are given out and all listeners are known.
    /// `judge`: `None` if the store decides rewards.
    pub fn commits(self, judge: Option<Judge>, assembly: &mut Assembly) -> Commits {
        let StoreLanes { lanes, store, clock, config, metrics, health, .. } = self;
        let submit_queues = lanes.iter().flat_map(|lane| lane.submit_queues.iter().cloned()).collect();
        assembly.metrics().register_collector(Box::new(WaitingEntries(submit_queues)));
        let judge = judge.map(Arc::new);
        let committer = |lane: Lane| Committer {
            store: store.clone(),
            clock: clock.clone(),
            judge: judge.clone(),
            submit_queues: lane.submit_queues,
            listeners: assembly.commit_listeners.clone(),
            wake: lane.wake,
            interval: config.group_interval,
            health: lane.health,
            metrics: metrics.clone(),
        };
        let committers = lanes.into_iter().map(committer).collect();
        let watch = Watch { store_failure: Box::new(move || store.failure()), health };
        Commits { committers, watch }
    }
}

fn is_connected(store: &Arc<dyn RecordStore>) -> IsConnected {
    let store = store.clone();
    Box::new(move |shard| store.is_connected(shard))
}

fn troubles(store: &Arc<dyn RecordStore>) -> Troubles {
    let store = store.clone();
    Box::new(move || store.troubles())
}

fn lane_of(store: &Arc<dyn RecordStore>) -> LaneOf {
    let store = store.clone();
    Box::new(move |shard| store.lane(shard))
}
