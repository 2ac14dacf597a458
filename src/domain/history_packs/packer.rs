//! Packs the changes of due users, region by region.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep, sleep_until};

use super::batch::{Batch, EncodedPack};
use super::feed::{DeliveredPack, PackFeed};
use super::health::PackHealth;
use super::metrics::Metrics;
use super::turns::Turns;
use crate::time::clock::Clock;
use model::ids::UserId;
use model::retention::Retention;
use model::shard::Region;
use model::version::Version;
use storage::delivery::{Delivery, Receipt};
use storage::history_bus::{HistoryBus, PackMessage};
use storage::hot_store::listed_users::{ListedUsers, Waiting};
use storage::hot_store::{ListedUser, StoreError};
use storage::turn::Turn;

/// Regions that are packed at a time.
pub const WORKERS: u16 = 4;
/// User ids that are read from the list at a time.
const DUE_MAX: usize = 8_192;
/// Users that are read at a time, with all changed rows.
const READ_MAX: usize = 128;
/// The least time between two counts of waiting users in all shards: each shard takes two commands.
const COUNT_EVERY_MIN: Duration = Duration::from_secs(2);
/// The time after which a user is tried again whose stored state cannot be read, or not be sent as a whole.
const UNREADABLE_MS: u64 = 3_600_000;

/// Carries users off the list. Any number of them may run, in any number of processes.
pub struct Packer {
    pub store: Arc<dyn ListedUsers>,
    pub bus: Arc<dyn HistoryBus>,
    pub clock: Arc<Clock>,
    /// The id of the hot store, so that no other store is written over its history.
    pub deployment: Arc<str>,
    /// From a user's first change to its pack, and from a pack to the next while the user is being written.
    pub interval: Duration,
    /// Bytes of a pack.
    pub pack_bytes: usize,
    /// Said with each pack, so that a job does not keep it for less.
    pub retention: Retention,
    pub health: Arc<PackHealth>,
    /// `None`: nothing shows the packs.
    pub feed: Option<Arc<PackFeed>>,
    pub metrics: Metrics,
}

/// Why a region is left before all due users are carried.
#[derive(Debug)]
enum Left {
    Store(StoreError),
    Bus(String),
}

impl From<StoreError> for Left {
    fn from(error: StoreError) -> Self {
        Left::Store(error)
    }
}

impl Packer {
    /// Runs until it is dropped.
    pub async fn run(self) {
        let now = Instant::now();
        let regions = |worker| Region::all().filter(move |region| region.0 % WORKERS == worker);
        let workers = (0..WORKERS).map(|worker| self.work(Turns::new(regions(worker), self.interval, now)));
        tokio::join!(join_all(workers), self.walk(), self.count());
    }

    async fn work(&self, mut turns: Turns) {
        loop {
            let (at, region) = turns.next();
            sleep_until(at).await;
            let turn = self.turn(region).await;
            turns.over(region, turn, Instant::now());
        }
    }

    /// Carries a region. Returns the answer of the store; `None`: something was away, so the region is tried again
    /// soon.
    async fn turn(&self, region: Region) -> Option<Turn> {
        // Under a doubtful clock, changes would become due at the wrong time.
        if self.clock.doubt().is_some() {
            return None;
        }
        let turn = self.store.take(region, self.interval).await.ok()?;
        let packed = if turn == Turn::Mine { self.pack(region).await } else { Ok(()) };
        match packed {
            Ok(()) => {
                self.health.succeeded(region);
                return Some(turn);
            }
            Err(Left::Bus(why)) => self.health.failed(region, why),
            // Others tell that the store is away.
            Err(Left::Store(error)) => tracing::debug!(region = region.0, %error, "region left"),
        }
        None
    }

    /// Carries all due users of the region.
    async fn pack(&self, region: Region) -> Result<(), Left> {
        loop {
            let due = self.store.due(region, self.clock.now(), DUE_MAX).await?;
            let mut rest = &due[..];
            while !rest.is_empty() {
                // The lease must not end in the middle.
                if rest.len() < due.len() {
                    self.store.take(region, self.interval).await?;
                }
                rest = self.pack_some(region, rest).await?;
            }
            if due.len() < DUE_MAX {
                return Ok(());
            }
        }
    }

    /// Carries about as many users as a pack holds. Returns the others.
    async fn pack_some<'u>(&self, region: Region, mut users: &'u [UserId]) -> Result<&'u [UserId], Left> {
        let mut batch = Batch::new(self.deployment.clone(), region, self.retention, self.pack_bytes);
        let (mut unreadable, now) = (Vec::new(), self.clock.now());
        while !users.is_empty() && !batch.is_full() {
            let (some, others) = users.split_at(users.len().min(READ_MAX));
            for user in self.store.read(some.to_vec()).await? {
                match &user.unreadable {
                    None => batch.add(user),
                    Some(why) => {
                        tracing::error!(
                            event = "listed_user_unreadable",
                            why,
                            "stored state of a listed user cannot be read"
                        );
                        unreadable.push((user.user, Version::NONE));
                    }
                }
            }
            users = others;
        }
        for (user, faults) in std::mem::take(&mut batch.unsound) {
            let why = faults.join("; ");
            tracing::error!(
                event = "listed_user_unsound",
                why,
                "rows of a listed user are not fit for the history store; the user stays listed"
            );
            unreadable.push((user, Version::NONE));
        }
        if !unreadable.is_empty() {
            self.metrics.unreadable.inc_by(unreadable.len() as u64);
            self.store.put_off(unreadable, now + UNREADABLE_MS).await?;
        }
        let rows = batch.rows;
        let (packs, carried) = batch.encode();
        self.deliver(region, packs).await.map_err(Left::Bus)?;
        self.metrics.users.inc_by(carried.len() as u64);
        self.metrics.rows.inc_by(rows);
        self.settle(carried).await?;
        Ok(users)
    }

    /// Returns when the bus has all of them.
    async fn deliver(&self, region: Region, packs: Vec<EncodedPack>) -> Result<(), String> {
        let (receipts, mut reports) = unbounded_channel();
        let told = |pack: &EncodedPack| DeliveredPack { region, users: pack.users, bytes: pack.bytes.len() };
        let sent: Vec<DeliveredPack> = packs.iter().map(told).collect();
        for (number, EncodedPack { bytes, .. }) in packs.into_iter().enumerate() {
            let receipt = Receipt::new(number as u64, receipts.clone());
            self.bus.publish(PackMessage { region, bytes, receipt });
        }
        drop(receipts);
        let mut failure = None;
        while let Some(report) = reports.recv().await {
            match (report.delivery, &self.feed) {
                (Delivery::Refused(why) | Delivery::Unknown(why), _) => {
                    self.metrics.failures.inc();
                    failure = Some(why);
                }
                (Delivery::Published, Some(feed)) => feed.delivered(sent[report.number as usize]),
                (Delivery::Published, None) => {}
            }
        }
        match failure {
            Some(why) => Err(why),
            None => {
                self.metrics.packs.inc_by(sent.len() as u64);
                self.metrics.bytes.inc_by(sent.iter().map(|pack| pack.bytes).sum::<usize>() as u64);
                Ok(())
            }
        }
    }

    /// Settles users after all that was read of them was delivered. A user without a write for an interval leaves the
    /// list; to remove a user that is still being written would only cost the next beat a conflict.
    async fn settle(&self, users: Vec<ListedUser>) -> Result<(), StoreError> {
        let now = self.clock.now();
        let interval = self.interval.as_millis() as u64;
        let version = |user: &ListedUser| user.token().map_or(Version::NONE, |token| token.version);
        let idle = |user: &ListedUser| version(user).at() + interval <= now;
        let (idle, active): (Vec<_>, Vec<_>) = users.into_iter().partition(idle);
        let delivered = |user: &ListedUser| (user.user, user.marks_until());
        let mut again: Vec<(UserId, Version)> = active.iter().map(delivered).collect();
        let versions: Vec<(UserId, Version)> = idle.iter().map(delivered).collect();
        let left = self.store.unlist(idle, now).await?;
        self.metrics.unlisted.inc_by(left.iter().filter(|left| **left).count() as u64);
        again.extend(versions.into_iter().zip(left).filter(|(_, left)| !left).map(|(user, _)| user));
        match again.is_empty() {
            true => Ok(()),
            false => self.store.put_off(again, now + interval).await,
        }
    }

    /// Updates the gauges of waiting users.
    async fn count(&self) {
        loop {
            if let Ok(Waiting { users, oldest_due }) = self.store.waiting().await {
                self.metrics.listed.set(users as i64);
                let late = oldest_due.map_or(0, |due| self.clock.now().saturating_sub(due));
                self.metrics.overdue_seconds.set((late / 1_000) as i64);
            }
            sleep(self.interval.max(COUNT_EVERY_MIN)).await;
        }
    }
}

#[cfg(test)]
#[path = "packer_tests.rs"]
mod tests;
