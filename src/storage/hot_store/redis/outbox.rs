//! The outbox: a sorted set in each shard, and what of all of them this process has to publish.
//!
//! A claim that was made here goes straight into the queue. What others have left is looked for every [`LOOK_EVERY`]: of
//! that, whoever holds the lock takes over what is older than [`Settings::takeover_after`]. The lock expires after as
//! long, and who cannot publish what it took for so long lets it go. It fences nothing: it spares double work, and an event
//! that was published twice has one id.
//!
//! [`Settings::takeover_after`]: super::Settings::takeover_after

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{RedisStore, Shared, joined, keys, scripts, value};
use crate::model::rewards::claim::Claim;
use crate::model::shard::{Shard, Shards};
use crate::storage::hot_store::{Answer, StoreError};
use crate::storage::outbox::{Outbox, OutboxNumber, codec};
use crate::storage::redis::Call;

const LOOK_EVERY: Duration = Duration::from_secs(3);
/// Shards that are looked at together, so that commits get their turn in between.
const STEP_SHARDS: usize = 100;
/// Entries of others that wait here to be published; more are left where they are.
const TAKEN_MAX: usize = 4_096;

/// What this process has to publish. Bounded by the room that groups are given for claims, and by [`TAKEN_MAX`].
pub struct OutboxQueue {
    queue: Mutex<Queue>,
    /// Entries of others, at the last look.
    others: AtomicU64,
    /// One looks at a time.
    looks: tokio::sync::Mutex<Option<Instant>>,
    /// Tells this process from others.
    name: String,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    members: HashSet<Arc<[u8]>>,
    last: OutboxNumber,
}

struct Entry {
    number: OutboxNumber,
    claim: Claim,
    member: Arc<[u8]>,
    /// When it was taken over from others.
    taken: Option<Instant>,
}

impl OutboxQueue {
    pub fn new() -> Self {
        OutboxQueue {
            queue: Mutex::default(),
            others: AtomicU64::new(0),
            looks: tokio::sync::Mutex::new(None),
            name: format!("{:016x}", rand::random::<u64>()),
        }
    }

    /// A claim was made by this process.
    pub fn made(&self, claim: Claim) {
        self.queue().push(codec::encode(&claim).into(), claim, None);
    }

    /// Nothing that could panic runs under the lock.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// False: it is there already.
    fn push(&mut self, member: Arc<[u8]>, claim: Claim, taken: Option<Instant>) -> bool {
        let new = self.members.insert(member.clone());
        if new {
            self.last += 1;
            self.entries.push_back(Entry { number: self.last, claim, member, taken });
        }
        new
    }

    fn behind(&self, after: OutboxNumber, limit: usize) -> Vec<(OutboxNumber, Claim)> {
        let first = self.entries.partition_point(|entry| entry.number <= after);
        self.entries.range(first..).take(limit).map(|entry| (entry.number, entry.claim.clone())).collect()
    }

    /// How many were taken over, and when the oldest of them.
    fn taken(&self) -> (usize, Option<Instant>) {
        let mut taken = self.entries.iter().filter_map(|entry| entry.taken);
        let oldest = taken.next();
        (usize::from(oldest.is_some()) + taken.count(), oldest)
    }

    fn drop_until(&mut self, up_to: OutboxNumber) {
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.number <= up_to) {
            self.members.remove(&entry.member);
        }
    }
}

impl Shared {
    async fn read_outbox(&self, after: OutboxNumber, limit: usize) -> Result<Vec<(OutboxNumber, Claim)>, StoreError> {
        let mut last = self.outbox.looks.lock().await;
        if last.is_none_or(|last| last.elapsed() >= LOOK_EVERY) {
            *last = Some(Instant::now());
            // What is in the queue is published whatever comes of it.
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "nobody looks for what others have left in the outbox");
            }
        }
        Ok(self.outbox.queue().behind(after, limit))
    }

    /// Looks through the outboxes of all shards.
    async fn look(&self) -> Result<(), StoreError> {
        let (already, oldest) = self.outbox.queue().taken();
        let stuck = oldest.is_some_and(|oldest| oldest.elapsed() > self.settings.takeover_after);
        let may_take = !stuck && self.holds_lock().await?;
        let mut room = if may_take { TAKEN_MAX.saturating_sub(already) } else { 0 };
        let newest = self.newest_score();
        let (mut all, mut found) = (0, Vec::new());
        let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
        for shards in shards.chunks_mut(STEP_SHARDS) {
            let args = [self.redis.deployment().as_bytes(), newest.as_bytes(), room.to_string().as_bytes()]
                .map(<[u8]>::to_vec);
            let before = found.len();
            let calls = joined::split(&self.redis, shards, |shard| *shard, |_| 1).into_iter();
            let calls = calls.map(|shards| Call { shards: shards.to_vec(), args: args.to_vec() }).collect();
            for answer in self.redis.run(&scripts::LOOK, calls).await? {
                let mut answer = value::array(answer)?.into_iter();
                all += answer.next().map_or(Ok(0), value::number)?;
                found.extend(answer.map(value::bytes).collect::<Result<Vec<_>, _>>()?);
            }
            // Each call may have found as many.
            found.truncate(before + room);
            room -= found.len() - before;
        }
        self.take_over(found);
        let own = self.outbox.queue().entries.len() as u64;
        self.outbox.others.store(all.saturating_sub(own), Ordering::Relaxed);
        Ok(())
    }

    fn take_over(&self, found: Vec<Vec<u8>>) {
        let mut claims = Vec::new();
        for member in found {
            match codec::decode(&member) {
                Ok(claim) => claims.push((member, claim)),
                Err(error) => tracing::error!(%error, "an entry of the outbox is left there"),
            }
        }
        claims.sort_by_key(|(_, claim)| claim.claimed_at);
        let (mut queue, now) = (self.outbox.queue(), Instant::now());
        let taken =
            claims.into_iter().filter_map(|(member, claim)| queue.push(member.into(), claim, Some(now)).then_some(()));
        let taken = taken.count();
        if taken > 0 {
            tracing::info!(taken, "claims that others have left in the outbox are published here");
        }
    }

    async fn holds_lock(&self) -> Result<bool, StoreError> {
        let for_ms = self.settings.takeover_after.as_millis();
        if for_ms == 0 {
            return Ok(true);
        }
        let deployment = self.redis.deployment().as_bytes().to_vec();
        let args = vec![deployment, self.outbox.name.clone().into_bytes(), for_ms.to_string().into_bytes()];
        let answer = self.redis.run(&scripts::LOCK, vec![Call::of(keys::COMMON, args)]).await?;
        Ok(answer.into_iter().next().map(value::number).transpose()? == Some(1))
    }

    /// The score up to which entries are taken over.
    fn newest_score(&self) -> String {
        let after = self.settings.takeover_after;
        if after.is_zero() {
            return "+inf".to_owned();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(after).as_millis().to_string()
    }

    async fn remove_from_outbox(&self, up_to: OutboxNumber) -> Result<(), StoreError> {
        let mut members: Vec<(Shard, Arc<[u8]>)> = Vec::new();
        {
            let queue = self.outbox.queue();
            let entries = queue.entries.iter().take_while(|entry| entry.number <= up_to);
            members.extend(entries.map(|entry| (keys::shard_of(entry.claim.key.user), entry.member.clone())));
        }
        if members.is_empty() {
            return Ok(());
        }
        members.sort_by_key(|(shard, _)| *shard);
        let calls = joined::split(&self.redis, &mut members, |(shard, _)| *shard, |_| 1).into_iter().map(|part| {
            let (shards, counts) = joined::shards(part, |(shard, _)| *shard);
            let mut args = vec![self.redis.deployment().as_bytes().to_vec(), counts];
            args.extend(part.iter().map(|(_, member)| member.to_vec()));
            Call { shards, args }
        });
        self.redis.run(&scripts::REMOVE, calls.collect()).await?;
        // Only now: what could not be removed is tried again with the next.
        self.outbox.queue().drop_until(up_to);
        Ok(())
    }
}

impl Outbox for RedisStore {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, Claim)>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.read_outbox(after, limit).await })
    }

    fn remove(&self, up_to: OutboxNumber) -> Answer<()> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.remove_from_outbox(up_to).await })
    }

    fn len(&self) -> u64 {
        self.own() + self.shared.outbox.others.load(Ordering::Relaxed)
    }

    fn own(&self) -> u64 {
        self.shared.outbox.queue().entries.len() as u64
    }
}
