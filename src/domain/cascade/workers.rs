//! Delivers what is queued: any number of owners at the same time, each of them one request after the other.
//!
//! ```text
//! take: owners that are due, each with a lease ─▶ a task for each: requests, for a turn ─▶ done: the lease ends
//! ```
//!
//! A worker is a task that lives for one lease, so there are as many as there is work, up to a bound. An owner with
//! nothing to do has none. After a turn the owner goes to the end of the line; one whose try failed or was slow to that of
//! a line of its own, which has a third of the workers at most.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::health::{CascadeHealth, Step};
use super::metrics::Metrics;
use super::turn::Turns;
use storage::owner_queues::{Due, Limit, OwnerQueues};

/// Owners that are taken at once.
const TAKE_MAX: usize = 64;
/// Events that another process has queued, and leases of one that died, are found so soon.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Owners that become due within it are taken together.
const GATHER: Duration = Duration::from_millis(10);
/// How often old events are given up, and the totals are measured.
const EXPIRE_EVERY: Duration = Duration::from_secs(10);
/// How long the end waits for requests under way: their outcome is kept, and nothing is delivered twice.
const END_MAX: Duration = Duration::from_secs(5);

pub struct Workers {
    pub turns: Arc<Turns>,
    pub queues: Arc<dyn OwnerQueues>,
    /// Notified when queues may be due.
    pub queued: Arc<Notify>,
    pub health: Arc<CascadeHealth>,
    pub metrics: Metrics,
}

impl Workers {
    /// Until `end` resolves; what is under way then is finished, unless it takes too long.
    pub async fn run(self, end: impl Future<Output = ()>) {
        tokio::select! {
            () = self.deliver() => {}
            () = self.look_after() => {}
            () = end => {}
        }
        self.turns.slots.empty(END_MAX).await;
    }

    async fn deliver(&self) {
        let mut clock_status = self.turns.clock_status.clone();
        loop {
            if clock_status.is_off() {
                clock_status.changed(true).await;
            }
            let mut kept = self.turns.slots.wait(TAKE_MAX).await;
            let limit = kept.limit();
            let (due, until) = self.take(limit).await;
            let is_full = due.taken.len() == limit.all;
            self.turns.begin(due.taken, until, &mut kept);
            drop(kept);
            if !is_full {
                let wait = due.next.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
                tokio::select! {
                    () = sleep(wait) => {}
                    () = self.queued.notified() => {}
                }
                sleep(GATHER).await;
            }
        }
    }

    /// Leases, and when they end at the earliest.
    async fn take(&self, limit: Limit) -> (Due, Instant) {
        let lease = self.turns.settings.lease();
        let ask = || async {
            let until = Instant::now() + lease;
            self.queues.take(limit, lease).await.map(|due| (due, until))
        };
        self.health.repeat(Step::Take, ask).await
    }

    async fn look_after(&self) {
        loop {
            let died = self.health.repeat(Step::Expire, || self.queues.expire()).await;
            self.metrics.died(died);
            let totals = self.health.repeat(Step::Expire, || self.queues.totals()).await;
            self.metrics.totals(&totals, self.turns.clock.now());
            sleep(EXPIRE_EVERY).await;
        }
    }
}
