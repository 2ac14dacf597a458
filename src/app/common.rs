//! The objects that all parts of a gateway share.

use std::io;
use std::sync::Arc;

use futures_util::FutureExt;

use super::assembly::Assembly;
use super::error::StartError;
use super::spawn::{runtime, spawn};
use crate::config::Config;
use domain::cold::ColdReader;
use domain::content_names::NamedContents;
use domain::devices::presence::Presence;
use domain::history::History;
use domain::ingest::hold_index::HoldIndex;
use domain::names::UserNames;
use domain::store_reads::StoreReads;
use domain::time::clock::Clock;
use domain::time::guard::{ClockGuard, ClockStatus};
use edge::called_users::CalledUsers;
use edge::control::counter_keys::KeyNames;
use edge::shutdown::Stop;
use model::mid_hash::MidHash;
use storage::device_channel::DeviceChannel;
use storage::hot_store::RecordStore;

pub(super) struct Common {
    pub hot: Arc<dyn RecordStore>,
    /// To the other gateways.
    pub channel: Arc<dyn DeviceChannel>,
    pub clock: Arc<Clock>,
    pub clock_status: ClockStatus,
    pub presence: Arc<Presence>,
    pub reads: StoreReads,
    pub history: History,
    /// With a history store beside the hot store.
    pub cold: Option<Arc<ColdReader>>,
    /// With `store.steady_hold`.
    pub holds: Option<Arc<HoldIndex>>,
    /// Names users in logs.
    pub mid_hash: MidHash,
    /// Where users are named by texts.
    pub names: Option<UserNames>,
    /// Where contents are.
    pub contents: Option<NamedContents>,
    pub stop: Stop,
}

/// The stores that all parts use.
pub(super) struct CommonStores {
    pub hot: Arc<dyn RecordStore>,
    pub channel: Arc<dyn DeviceChannel>,
    pub cold: Option<Arc<ColdReader>>,
    pub names: Option<UserNames>,
    pub contents: Option<NamedContents>,
}

impl Common {
    pub fn build(
        config: &Config,
        CommonStores { hot, channel, cold, names, contents }: CommonStores,
        clock: Arc<Clock>,
        presence: Arc<Presence>,
        stop: Stop,
        assembly: &mut Assembly,
    ) -> Self {
        let reads = StoreReads::new(assembly.metrics());
        let of_store = hot.clone();
        let clock_guard = ClockGuard::new(move || of_store.time(), clock.clone(), assembly.metrics());
        let clock_status = clock_guard.clock_status();
        assembly.threads.push(Box::new(|| keep_time(clock_guard).map(|()| None)));
        assembly.ends.push(Box::pin(clock_status.clone().lost().map(StartError::ClockAhead)));
        let holds = (!config.store.steady_hold.is_zero()).then(HoldIndex::new);
        let reading = Arc::new(config.reading.clone());
        let history = History::new(hot.clone(), clock.clone(), reads.clone(), reading, holds.clone());
        let history = history.with_cold(cold.clone());
        let mid_hash = config.log.mid_hash();
        Common {
            hot,
            channel,
            clock,
            clock_status,
            presence,
            reads,
            history,
            cold,
            holds,
            mid_hash,
            names,
            contents,
            stop,
        }
    }

    /// The names of users and contents, for calls.
    pub fn key_names(&self) -> KeyNames {
        KeyNames { called_users: CalledUsers(self.names.clone()), contents: self.contents.clone() }
    }
}

/// Measures the clock once, before the first client is served, and then on a thread of its own, so that no work delays
/// it.
pub(super) fn keep_time(clock_guard: ClockGuard) -> io::Result<()> {
    let runtime = runtime()?;
    runtime.block_on(clock_guard.look());
    spawn("time", move || runtime.block_on(clock_guard.run()))?;
    Ok(())
}
