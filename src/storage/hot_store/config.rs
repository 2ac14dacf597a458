//! The settings of the hot store.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use model::retention::Retention;
use model::rule::Admission;

/// The store that beats are committed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In files of this process.
    Embedded,
    /// In a Redis that several gateways share.
    Redis,
    /// Where history services keep it.
    #[serde(rename = "history-service")]
    HistoryService,
}

/// `[store]`: what is kept, how long and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub hot_store: Backend,
    /// Where the embedded store keeps everything; made (0700) if missing. One process at a time.
    pub data_dir: PathBuf,
    /// The least time from the start of one group commit to the next while there is more to write. The committer
    /// observes it, not the store.
    #[serde(with = "humantime_serde")]
    pub group_interval: Duration,
    /// How long a steady beat may wait, unacked, for later beats of its session, if its client allows late acks; zero =
    /// not at all. The connections observe it, not the store.
    #[serde(with = "humantime_serde")]
    pub steady_hold: Duration,
    /// While less than this share of the users can be committed, the gateway is not ready. Above 0, at most 1.
    pub ready_share: f64,
    /// How long records, tombstones, clears and pauses are kept after their `at`.
    #[serde(with = "humantime_serde")]
    pub retention: Duration,
    /// Contents kept of one user, deleted ones included; a new one beyond it takes the place of the oldest by `at`.
    pub records_per_user: NonZeroU32,
    /// Open although the newest commit is more than a day after this machine's clock.
    pub accept_clock_before_store: bool,
    /// A step of the wall clock beyond this is not believed: the gateway is not ready and commits nothing until the
    /// wall clock is back, or an operator accepts the step.
    #[serde(with = "humantime_serde")]
    pub clock_step_max: Duration,
    /// How many recent users are cached, each with the watermark, the number of contents and the row of the current
    /// content: about 300 bytes. A user that is not cached costs two reads at the next beat, and a count at the next
    /// new content; on Redis one more read.
    pub user_cache: NonZeroUsize,
    /// Bytes of table blocks kept in memory for reads. Tables in memory come on top: 16 MiB, up to five times as much
    /// while the disk cannot keep up.
    pub cache_bytes: u64,
    /// The time from the end of one pass over the whole store, which removes what has expired, to the next.
    #[serde(with = "humantime_serde")]
    pub prune_interval: Duration,
}

impl Config {
    /// The rule that admits changes by their time.
    pub fn admission(&self) -> Admission {
        Admission { retention: Retention::of(self.retention) }
    }
}
