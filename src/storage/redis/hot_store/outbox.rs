//! The outbox: a sorted set in each shard, and the queue of entries that this process has to publish.
//!
//! An entry made by this process goes straight into the queue. Every [`LOOK_EVERY`] the outboxes are read for entries
//! of other gateways: the holder of the lock takes over entries older than [`Settings::takeover_after`]. The lock
//! expires after the same time, and a holder that has published none of the entries it took over for so long gives it
//! up. The lock only spares double work: an event that is published twice has one id. Old entries of a live gateway are
//! taken over, too, so an event may be published once by each gateway.
//!
//! [`Settings::takeover_after`]: super::Settings::takeover_after

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::redis::pipe;
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};

use super::{RedisStore, Shared, keys};
use crate::{checked, joined, lease, value};
use model::outbox_entry::OutboxEntry;
use model::shard::{Shard, Shards};
use storage::hot_store::{Answer, StoreError};
use storage::outbox::{Outbox, OutboxNumber, codec};
use storage::turn::Turn;

const LOOK_EVERY: Duration = Duration::from_secs(3);
/// Shards that are read in one step; commits get their turn between the steps.
const STEP_SHARDS: usize = 100;
/// Entries of other gateways that wait here to be published; further ones stay in the store.
const TAKEN_MAX: usize = 4_096;

/// The entries that this process has to publish. Bounded by the room in the outbox, and by [`TAKEN_MAX`].
pub struct OutboxQueue {
    queue: Mutex<Queue>,
    /// The number of entries of other gateways, at the last look.
    others: AtomicU64,
    /// Whether some outboxes could not be read at the last look.
    look_failed: AtomicBool,
    /// The time of the last look; locked while a look runs, so that there is one at a time.
    looks: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Queue {
    entries: BTreeMap<OutboxNumber, Queued>,
    members: HashSet<Arc<[u8]>>,
    last: OutboxNumber,
    /// When an entry that was taken over was last removed.
    taken_removed: Option<Instant>,
}

struct Queued {
    entry: OutboxEntry,
    member: Arc<[u8]>,
    /// When the entry was taken over; `None`: this process made it.
    taken: Option<Instant>,
}

impl OutboxQueue {
    pub fn new() -> Self {
        OutboxQueue {
            queue: Mutex::default(),
            others: AtomicU64::new(0),
            look_failed: AtomicBool::new(false),
            looks: tokio::sync::Mutex::new(None),
        }
    }

    /// Queues an entry that this process has made.
    pub fn made(&self, entry: OutboxEntry) {
        self.queue().push(codec::encode(&entry).into(), entry, None);
    }

    /// Locks the queue. No code that could panic runs under the lock.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }
}

impl Queue {
    /// False: the entry is in the queue already.
    fn push(&mut self, member: Arc<[u8]>, entry: OutboxEntry, taken: Option<Instant>) -> bool {
        let new = self.members.insert(member.clone());
        if new {
            self.last += 1;
            self.entries.insert(self.last, Queued { entry, member, taken });
        }
        new
    }

    fn entries_after(&self, after: OutboxNumber, limit: usize) -> Vec<(OutboxNumber, OutboxEntry)> {
        let entries = self.entries.range(after.saturating_add(1)..).take(limit);
        entries.map(|(number, queued)| (*number, queued.entry.clone())).collect()
    }

    fn taken(&self) -> usize {
        self.entries.values().filter(|queued| queued.taken.is_some()).count()
    }

    /// Whether entries taken over have waited longer than `limit`, and none of them was published within that time.
    fn is_stuck(&self, limit: Duration) -> bool {
        let oldest = self.entries.values().find_map(|queued| queued.taken);
        oldest.is_some_and(|oldest| self.taken_removed.map_or(oldest, |at| at.max(oldest)).elapsed() > limit)
    }

    fn drop_all(&mut self, numbers: &[OutboxNumber]) {
        for number in numbers {
            let Some(queued) = self.entries.remove(number) else { continue };
            self.members.remove(&queued.member);
            if queued.taken.is_some() {
                self.taken_removed = Some(Instant::now());
            }
        }
    }
}

impl Shared {
    async fn read_outbox(
        &self,
        after: OutboxNumber,
        limit: usize,
    ) -> Result<Vec<(OutboxNumber, OutboxEntry)>, StoreError> {
        let mut last = self.outbox.looks.lock().await;
        if last.is_none_or(|last| last.elapsed() >= LOOK_EVERY) {
            *last = Some(Instant::now());
            // A failed look does not keep the queue from being published.
            let failed = self.look().await.err();
            let failed_before = self.outbox.look_failed.swap(failed.is_some(), Ordering::Relaxed);
            if let Some(error) = failed.filter(|_| !failed_before) {
                tracing::warn!(event = "outbox_takeover_paused", %error, "cannot look at all outboxes; what other gateways left there waits");
            }
        }
        Ok(self.outbox.queue().entries_after(after, limit))
    }

    /// Looks through the outboxes of all shards.
    async fn look(&self) -> Result<(), StoreError> {
        let (already, known, stuck) = {
            let queue = self.outbox.queue();
            (queue.taken(), queue.entries.len(), queue.is_stuck(self.settings.takeover_after))
        };
        let may_take = !stuck && self.holds_lock().await?;
        let free = if may_take { TAKEN_MAX.saturating_sub(already) } else { 0 };
        // Entries in the queue may be among the oldest, and must not hide entries of other gateways.
        let mut room = if free > 0 { free + known.min(TAKEN_MAX) } else { 0 };
        let newest = self.newest_score();
        let (mut all, mut found, mut away) = (0, Vec::new(), Ok(()));
        let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
        for shards in shards.chunks_mut(STEP_SHARDS) {
            let before = found.len();
            let parts = joined::split(&self.redis, shards, |shard| *shard, |_| 1).into_iter();
            for looked in join_all(parts.map(|shards| self.look_at(shards, &newest, room))).await {
                match looked {
                    Ok((count, members)) => {
                        all += count;
                        found.extend(members);
                    }
                    // Entries on a node that is away wait for it.
                    Err(error) => away = Err(error),
                }
            }
            // Each call may have found up to `room` entries.
            found.truncate(before + room);
            room -= found.len() - before;
        }
        self.take_over(found, free);
        let own = self.outbox.queue().entries.len() as u64;
        if away.is_ok() {
            self.outbox.others.store(all.saturating_sub(own), Ordering::Relaxed);
        }
        away
    }

    /// The number of entries in the outboxes of these shards, and the oldest entries of each, no newer than `newest`;
    /// at most `room` of them.
    async fn look_at(&self, shards: &[Shard], newest: &str, room: usize) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
        let mut commands = pipe();
        for shard in shards {
            commands.zcard(keys::Keys::of(*shard).outbox());
        }
        let counts = checked::ask(&self.redis, shards[0], commands).await?.into_iter().map(value::number);
        let counts = counts.collect::<Result<Vec<u64>, _>>()?;
        let mut commands = pipe();
        let mut left = room;
        for (shard, count) in shards.iter().zip(&counts).filter(|(_, count)| **count > 0) {
            if left == 0 {
                break;
            }
            let taken = left.min(usize::try_from(*count).unwrap_or(left));
            left -= taken;
            commands.zrangebyscore_limit(keys::Keys::of(*shard).outbox(), "-inf", newest, 0, taken as isize);
        }
        let mut members = Vec::new();
        if commands.cmd_iter().next().is_some() {
            for oldest in checked::ask(&self.redis, shards[0], commands).await? {
                members.extend(value::array(oldest)?.into_iter().map(value::bytes).collect::<Result<Vec<_>, _>>()?);
            }
        }
        Ok((counts.iter().sum(), members))
    }

    /// Takes over at most `free` entries of `found` that are not in the queue yet.
    fn take_over(&self, mut found: Vec<Vec<u8>>, free: usize) {
        {
            let queue = self.outbox.queue();
            found.retain(|member| !queue.members.contains(member.as_slice()));
        }
        found.truncate(free);
        let mut entries = Vec::new();
        for member in found {
            match codec::decode(&member) {
                Ok(entry) => entries.push((member, entry)),
                Err(error) => {
                    tracing::error!(event = "outbox_entry_unreadable", %error, "unreadable outbox entry skipped")
                }
            }
        }
        entries.sort_by_key(|(_, entry)| entry.age_order());
        let (mut queue, now) = (self.outbox.queue(), Instant::now());
        let taken =
            entries.into_iter().filter_map(|(member, entry)| queue.push(member.into(), entry, Some(now)).then_some(()));
        let taken = taken.count();
        if taken > 0 {
            tracing::info!(event = "outbox_takeover", entries = taken, "took over outbox entries of another gateway");
        }
    }

    async fn holds_lock(&self) -> Result<bool, StoreError> {
        let lasts = self.settings.takeover_after;
        let key = keys::Keys::of(keys::COMMON).takeover();
        Ok(lasts.is_zero() || lease::take(&self.redis, keys::COMMON, &key, &self.name, lasts).await? == Turn::Mine)
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

    /// Removes entries from the outboxes. Entries on nodes that are away stay.
    async fn remove_from_outbox(&self, numbers: Vec<OutboxNumber>) -> Result<(), StoreError> {
        let mut members: Vec<(Shard, OutboxNumber, Arc<[u8]>)> = Vec::new();
        {
            let queue = self.outbox.queue();
            let entries = numbers.into_iter().filter_map(|number| Some((number, queue.entries.get(&number)?)));
            let member =
                |(number, queued): (OutboxNumber, &Queued)| (queued.entry.shard(), number, queued.member.clone());
            members.extend(entries.map(member));
        }
        if members.is_empty() {
            return Ok(());
        }
        members.sort_by_key(|(shard, ..)| *shard);
        let parts = joined::split(&self.redis, &mut members, |(shard, ..)| *shard, |_| 1).into_iter();
        let removed = join_all(parts.map(async |part| {
            let mut commands = pipe();
            for of_shard in part.chunk_by(|(one, ..), (other, ..)| one == other) {
                let members: Vec<&[u8]> = of_shard.iter().map(|(_, _, member)| &member[..]).collect();
                commands.zrem(keys::Keys::of(of_shard[0].0).outbox(), members);
            }
            let answers = checked::ask(&self.redis, part[0].0, commands).await?;
            answers.into_iter().try_for_each(|answer| value::number(answer).map(drop))?;
            // Only removed entries leave the queue: the others are removed at the next attempt.
            let numbers: Vec<OutboxNumber> = part.iter().map(|(_, number, _)| *number).collect();
            self.outbox.queue().drop_all(&numbers);
            Ok(())
        }));
        removed.await.into_iter().collect()
    }
}

impl Outbox for RedisStore {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.read_outbox(after, limit).await })
    }

    fn remove(&self, numbers: Vec<OutboxNumber>) -> Answer<()> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.remove_from_outbox(numbers).await })
    }

    fn len(&self) -> u64 {
        self.own() + self.shared.outbox.others.load(Ordering::Relaxed)
    }

    fn own(&self) -> u64 {
        self.shared.outbox.queue().entries.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::claim;

    const LIMIT: Duration = Duration::from_millis(20);

    fn entry(mid: u64) -> OutboxEntry {
        OutboxEntry::Claim(claim(mid))
    }

    #[test]
    fn entries_are_dropped_one_by_one_and_the_rest_is_read_on_in_its_order() {
        let mut queue = Queue::default();
        for mid in 1..=5 {
            assert!(queue.push(Arc::from([mid as u8]), entry(mid), None));
        }
        assert!(!queue.push(Arc::from([3]), entry(3), None), "it is there");
        queue.drop_all(&[2, 4, 4, 77]);
        let numbers = |after| queue.entries_after(after, 100).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!((numbers(0), numbers(1), numbers(5)), (vec![1, 3, 5], vec![3, 5], vec![]));
        assert_eq!(queue.members.len(), 3);
    }

    #[test]
    fn a_gateway_is_stuck_only_if_no_entry_it_took_over_is_published() {
        let mut queue = Queue::default();
        queue.push(Arc::from([1]), entry(1), None);
        std::thread::sleep(2 * LIMIT);
        assert!(!queue.is_stuck(LIMIT), "of its own");
        for mid in 2..=3 {
            queue.push(Arc::from([mid as u8]), entry(mid), Some(Instant::now()));
        }
        assert_eq!((queue.taken(), queue.is_stuck(Duration::from_secs(60))), (2, false));
        std::thread::sleep(2 * LIMIT);
        assert!(queue.is_stuck(LIMIT));
        queue.drop_all(&[3]);
        assert_eq!((queue.taken(), queue.is_stuck(Duration::from_secs(60))), (1, false));
        std::thread::sleep(2 * LIMIT);
        assert!(queue.is_stuck(LIMIT));
    }
}
