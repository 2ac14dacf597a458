//! An embedded store that waits for nothing before it commits.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heartline::storage::hot_store::config::{Backend, Config};
use heartline::storage_embedded::hot_store::EmbeddedStore;

/// Wall-clock milliseconds at which it begins.
pub const BEGIN: u64 = 1_800_000_000_000;

pub fn open(dir: &Path) -> EmbeddedStore {
    let config = Config {
        hot_store: Backend::Embedded,
        data_dir: dir.to_owned(),
        group_interval: Duration::ZERO,
        steady_hold: Duration::ZERO,
        ready_share: 1.0,
        retention: Duration::from_hours(90 * 24),
        records_per_user: NonZeroU32::new(10_000).expect("not zero"),
        accept_clock_before_store: false,
        clock_step_max: Duration::from_hours(1),
        user_cache: NonZeroUsize::new(100_000).expect("not zero"),
        cache_bytes: 64 << 20,
        prune_interval: Duration::from_hours(1),
    };
    EmbeddedStore::open(&config, Arc::new(|| BEGIN)).expect("a store")
}
