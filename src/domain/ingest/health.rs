//! Whether commits return, for other threads than the committing one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::time::Instant;

use super::lanes::LaneOf;
use model::shard::{Shard, Shards};

/// A commit that takes longer counts as stalled, and the gateway as not ready. A disk that is only slow is faster.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(10);

/// The health of one lane.
#[derive(Debug)]
pub struct LaneHealth {
    away: AtomicBool,
    /// While it is away.
    why: Mutex<String>,
    epoch: Instant,
    /// Milliseconds from `epoch` to the start of the running commit, + 1; 0 = none is running.
    began: AtomicU64,
}

/// The health of all lanes, for `/readyz` and `/metrics`.
pub struct StoreHealth {
    lanes: Vec<Arc<LaneHealth>>,
    lane_of: LaneOf,
    is_connected: IsConnected,
    troubles: Troubles,
}

/// [`Positions::is_connected`](storage::hot_store::Positions::is_connected) of the store: a lane without changes
/// notices nothing.
pub type IsConnected = Box<dyn Fn(Shard) -> bool + Send + Sync>;

/// [`Positions::troubles`](storage::hot_store::Positions::troubles) of the store.
pub type Troubles = Box<dyn Fn() -> Vec<String> + Send + Sync>;

impl Default for LaneHealth {
    fn default() -> Self {
        let (away, why, began) = Default::default();
        LaneHealth { away, why, epoch: Instant::now(), began }
    }
}

impl LaneHealth {
    pub fn takes_writes(&self) -> bool {
        !self.away.load(Ordering::Relaxed) && self.under_way() < STALLED_AFTER
    }

    /// Sets why the lane is away; `None`: it is not. Returns whether it was before.
    pub fn set_away(&self, why: Option<String>) -> bool {
        let before = self.away.swap(why.is_some(), Ordering::Relaxed);
        if before || why.is_some() {
            *self.why.lock() = why.unwrap_or_default();
        }
        before
    }

    /// Why it takes no writes; `None`: it does.
    fn trouble(&self) -> Option<String> {
        match self.under_way() >= STALLED_AFTER {
            true => Some(format!("a commit has not returned for {} s", self.under_way().as_secs())),
            false => self.away.load(Ordering::Relaxed).then(|| self.why.lock().clone()),
        }
    }

    pub(super) fn begins(&self, now: Instant) {
        self.began.store(now.duration_since(self.epoch).as_millis() as u64 + 1, Ordering::Relaxed);
    }

    pub(super) fn ends(&self) {
        self.began.store(0, Ordering::Relaxed);
    }

    /// The time that the running commit has taken so far; zero if none is running.
    fn under_way(&self) -> Duration {
        match self.began.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => self.epoch.elapsed().saturating_sub(Duration::from_millis(began - 1)),
        }
    }
}

impl StoreHealth {
    /// `lanes`: those of the store, in their order.
    pub fn new(lanes: Vec<Arc<LaneHealth>>, lane_of: LaneOf, is_connected: IsConnected, troubles: Troubles) -> Self {
        StoreHealth { lanes, lane_of, is_connected, troubles }
    }

    /// Why changes are not committed, each in a few words: as the store says, or else as commits have failed.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = (self.troubles)();
        if troubles.is_empty() {
            troubles = self.lanes.iter().filter_map(|lane| lane.trouble()).collect();
            troubles.sort();
            troubles.dedup();
        }
        troubles
    }

    /// The share of shards whose changes are committed, 0 to 1.
    pub fn served(&self) -> f64 {
        let all = usize::from(Shards::DEFAULT.count());
        (all - self.away().len()) as f64 / all as f64
    }

    /// The shards whose changes are not committed, ascending.
    pub fn away(&self) -> Vec<Shard> {
        let serves: Vec<bool> = self.lanes.iter().map(|lane| lane.takes_writes()).collect();
        let is_served = |shard: &Shard| serves[(self.lane_of)(*shard)] && (self.is_connected)(*shard);
        Shards::DEFAULT.all().filter(|shard| !is_served(shard)).collect()
    }

    /// Whether changes of this shard are committed.
    pub fn serves(&self, shard: Shard) -> bool {
        self.lanes[(self.lane_of)(shard)].takes_writes() && (self.is_connected)(shard)
    }

    /// The longest time that a running commit has taken so far.
    pub(super) fn under_way(&self) -> Duration {
        self.lanes.iter().map(|lane| lane.under_way()).max().unwrap_or_default()
    }
}

/// Computed at each scrape.
#[derive(Clone)]
pub struct StoreStatus(pub Arc<StoreHealth>);

impl std::fmt::Debug for StoreStatus {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_tuple("StoreStatus").field(&self.0.served()).finish()
    }
}

impl Collector for StoreStatus {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let served = self.0.served();
        let ok = ConstGauge::new(i64::from(served == 1.0));
        let help = "1 while the hot store takes the writes of all users";
        ok.encode(encoder.encode_descriptor("store_ok", help, None, ok.metric_type())?)?;
        let ratio = ConstGauge::new(served);
        let help = "Share of shards whose writes the hot store takes; below 1 while a cluster node is away";
        ratio.encode(encoder.encode_descriptor("store_served_ratio", help, None, ratio.metric_type())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unconnected_shards_are_missing_from_the_share_even_in_an_idle_lane() {
        let health = StoreHealth::new(
            vec![Arc::default()],
            Box::new(|_| 0),
            Box::new(|shard| shard.0 < 250),
            Box::new(Vec::new),
        );
        assert_eq!(health.served(), 0.25);
        assert_eq!((health.away().len(), health.serves(Shard(249)), health.serves(Shard(250))), (750, true, false));
    }

    #[test]
    fn a_lane_that_is_away_is_missing_from_the_share() {
        let lanes: Vec<Arc<LaneHealth>> = (0..2).map(|_| Arc::default()).collect();
        let lane_of = Box::new(|shard: Shard| usize::from(shard.0 >= 750));
        let health = StoreHealth::new(lanes.clone(), lane_of, Box::new(|_| true), Box::new(Vec::new));
        assert_eq!(health.served(), 1.0);
        lanes[1].set_away(Some("down".to_owned()));
        assert_eq!((health.served(), health.troubles()), (0.75, vec!["down".to_owned()]));
        lanes[0].set_away(Some("down".to_owned()));
        assert_eq!((health.served(), health.troubles()), (0.0, vec!["down".to_owned()]));
        for lane in &lanes {
            lane.set_away(None);
        }
        assert_eq!((health.served(), health.troubles()), (1.0, vec![]));
    }
}
