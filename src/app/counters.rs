//! The parts of the counters, wired.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;

use super::assembly::Assembly;
use super::common::Common;
use super::outbox::Outbox;
use super::spawn::{runtime, spawn};
use domain::counters::config::CountersConfig;
use domain::counters::{CounterStores, Counters, CrossingEvents};
use edge::control::counters;
use edge::shutdown::Stop;
use storage::counters::{DerivedCounters, DirectCounters, Metrics};

/// The store of the direct counters, if there are any.
pub(super) struct Direct {
    pub counters: Option<Arc<dyn DirectCounters>>,
    /// Does their steps, on Redis.
    pub worker: Option<BoxFuture<'static, ()>>,
}

/// The store of the derived counters.
#[derive(Clone)]
pub(super) struct Derived {
    pub counters: Arc<dyn DerivedCounters>,
    pub metrics: Metrics,
}

/// The stores of both sorts of counters.
pub(super) struct Counting {
    pub direct: Direct,
    pub derived: Option<Derived>,
}

/// `room`: entries with which the outbox is full.
pub(super) fn build(
    config: &CountersConfig,
    counting: Counting,
    room: u64,
    outbox: &Outbox,
    common: &Common,
    assembly: &mut Assembly,
) -> Arc<Counters> {
    let Counting { direct: Direct { counters: direct, worker }, derived } = counting;
    let derived = derived.map(|Derived { counters, metrics }| {
        metrics.register(assembly.metrics());
        counters
    });
    if let Some(worker) = worker {
        let stop = common.stop.clone();
        assembly.threads.push(Box::new(|| count(worker, stop).map(Some)));
    }
    let events = CrossingEvents { outbox: outbox.entries.clone(), outbox_max: room, notify: outbox.notify.clone() };
    let stores = CounterStores { direct, derived };
    let counters = Arc::new(Counters::new(config, stores, events, common.clock.clone(), assembly.metrics()));
    assembly.serve_control(counters::routes(counters.clone(), common.key_names()));
    counters
}

/// Does steps until the process ends.
fn count(worker: BoxFuture<'static, ()>, stop: Stop) -> io::Result<JoinHandle<()>> {
    let runtime = runtime()?;
    spawn("counters", move || {
        runtime.block_on(async {
            tokio::select! {
                () = worker => {}
                () = stop.stopped() => {}
            }
        });
    })
}
