//! The janitor, which removes expired records.

use futures_util::future::join_all;

use super::assembly::Assembly;
use super::common::Common;
use super::lanes::StoreIntake;
use domain::ingest::janitor::Janitor;
use domain::ingest::submit_queue::Completions;

/// It runs until the drain begins.
pub(super) fn build(StoreIntake { lanes, completions }: StoreIntake, common: &Common, assembly: &mut Assembly) {
    let janitor = Janitor::new(common.hot.clone(), lanes, common.clock.clone(), assembly.metrics());
    let answers = join_all(completions.into_iter().map(Completions::run));
    let stop = common.stop.clone();
    assembly.background.push(Box::pin(async move {
        tokio::select! {
            () = janitor.run() => {}
            _ = answers => {}
            _ = stop.draining() => {}
        }
    }));
}
