//! Compares what need not stay hot with the history store, if one is configured, and reads what has left.

use std::sync::Arc;
use std::time::Duration;

use super::super::assembly::Assembly;
use super::super::common::Common;
use super::history_to_read;
use crate::config::Config;
use domain::cold::{ColdReader, HistoryHandle, OpenHistory, metrics as cold};
use domain::history_trim::comparer::{Bounds, Comparer};
use domain::history_trim::metrics::Metrics;
use domain::time::clock::Clock;
use model::retention::Retention;
use storage::history_store::HistoryAway;
use storage::history_store::config::{HistoryConfig, Trim};
use storage::hot_store::trim_users::TrimUsers;
use storage::hot_store::unread_users::ColdUsers;

/// Each user is compared once in this share of `history.hot_idle`, within these limits.
const LOOKS_IN_IDLE: u32 = 30;
const EVERY_MIN: Duration = Duration::from_secs(5);
const EVERY_MAX: Duration = Duration::from_hours(24);
/// Intervals after which packs should have reached the history store.
const GRACE_INTERVALS: u32 = 10;

/// The reader of records that have left the hot store. It is needed with any `history.trim`: rows may have left earlier.
pub(super) fn cold_reader(
    config: &Config,
    store: Arc<dyn ColdUsers>,
    clock: Arc<Clock>,
    assembly: &mut Assembly,
) -> Option<Arc<ColdReader>> {
    if !config.history.is_kept() {
        return None;
    }
    let history = HistoryHandle::new(opener(config));
    if config.history.trim == Trim::On || store.rebuilt_at().is_some() {
        // The first reader would have to wait for it.
        let history = history.clone();
        assembly.background.push(Box::pin(async move { drop(history.get().await) }));
    }
    let metrics = cold::Metrics::new(assembly.metrics());
    Some(ColdReader::new(store, history, clock, Retention::of(config.store.retention), metrics))
}

/// It runs until the drain begins: another gateway goes on.
pub(super) fn build(config: &Config, store: Arc<dyn TrimUsers>, common: &Common, assembly: &mut Assembly) {
    let Some(cold) = common.cold.as_ref().filter(|_| config.history.trim != Trim::Off) else { return };
    let (clock, retention) = (common.clock.clone(), Retention::of(config.store.retention));
    let metrics = Metrics::new(assembly.metrics());
    let history = cold.history().clone();
    let comparer = Comparer::new(store, history, clock, retention, bounds(&config.history), metrics);
    let stop = common.stop.clone();
    assembly.background.push(Box::pin(async move {
        tokio::select! {
            () = comparer.run() => {}
            _ = stop.draining() => {}
        }
    }));
}

fn bounds(history: &HistoryConfig) -> Bounds {
    let idle = Some(history.hot_idle).filter(|idle| !idle.is_zero());
    Bounds {
        contents_max: history.hot_max.into(),
        contents_kept: history.hot_keep.into(),
        idle,
        every: idle.map_or(EVERY_MAX, |idle| (idle / LOOKS_IN_IDLE).clamp(EVERY_MIN, EVERY_MAX)),
        grace: history.interval * GRACE_INTERVALS,
        trims: history.trim == Trim::On,
    }
}

/// The history store is opened on a thread of its own, since that blocks.
fn opener(config: &Config) -> OpenHistory {
    let config = Arc::new(config.clone());
    Box::new(move || {
        let config = config.clone();
        Box::pin(async move {
            let opened = tokio::task::spawn_blocking(move || history_to_read(&config)).await;
            let opened = opened.map_err(|error| HistoryAway(error.to_string()))?;
            opened.map_err(|error| HistoryAway(error.to_string()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn bounds_of(idle: Duration) -> Bounds {
        let history = Config::load(None).expect("defaults").history;
        bounds(&HistoryConfig { hot_idle: idle, ..history })
    }

    #[test]
    fn users_are_compared_thirty_times_until_they_are_idle_but_each_day() {
        let days = |days: u64| Duration::from_hours(24 * days);
        assert_eq!(bounds_of(days(15)).every, Duration::from_hours(12));
        assert_eq!((bounds_of(days(900)).every, bounds_of(Duration::from_secs(2)).every), (EVERY_MAX, EVERY_MIN));
        let never = bounds_of(Duration::ZERO);
        assert_eq!((never.idle, never.every, never.grace), (None, EVERY_MAX, Duration::from_secs(300)));
    }
}
