//! The parts that tell of positions and forgettings, wired.

use std::sync::Arc;

use tokio::sync::Notify;

use super::assembly::Assembly;
use super::common::Common;
use super::spawn::{runtime, spawn};
use super::stores::Stores;
use crate::config::Config;
use domain::notices::{Followers, NoticeHealth, NoticeListener, Publisher, Reach};
use model::cloud_event::Source;
use storage::owner_queues::OwnerQueues;

/// Runs on a thread of its own: a take waits for the commit under way.
pub(super) fn build(
    config: &Config,
    queues: Arc<dyn OwnerQueues>,
    reach: Reach,
    stores: &Stores,
    common: &Common,
    assembly: &mut Assembly,
) -> Arc<Followers> {
    let (notices, left) = (stores.notices.clone(), Arc::new(Notify::new()));
    let health = Arc::new(NoticeHealth::new(assembly.metrics()));
    let of_probes = health.clone();
    assembly.degraded.push(Box::new(move || of_probes.degraded()));
    let listener = NoticeListener { notices: notices.clone(), left: left.clone() };
    assembly.commit_listeners.push(Arc::new(listener));
    let followers = Arc::new(Followers::new(queues, notices.clone(), health.clone(), reach));
    let publisher = Publisher {
        notices,
        records: stores.hot.clone(),
        bus: stores.positions.clone(),
        clock: common.clock.clone(),
        source: Source::of(&config.events.deployment),
        left,
        health,
        names: common.names.clone(),
        contents: common.contents.clone(),
    };
    let (looking, stop) = (followers.clone(), common.stop.clone());
    assembly.threads.push(Box::new(move || {
        let runtime = runtime()?;
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = looking.run() => {}
                    () = publisher.run() => {}
                    _ = stop.draining() => {}
                }
            });
        };
        spawn("notices", run).map(Some)
    }));
    followers
}
