//! Group commit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesOrdered, StreamExt};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::batch::{Batch, Lists};
use super::coalesce::Entry;
use super::committed;
use super::completion::Completion;
use super::health::LaneHealth;
use super::metrics::Metrics;
use super::submit_queue::SubmitQueue;
use crate::commit_listener::{CommitListener, CommittedGroup};
use crate::rewards::judge::{Judge, OpenRules};
use crate::time::clock::Clock;
use model::backoff::Backoff;
use model::change::{Decided, Outcome};
use model::rewards::calendar::RewardDay;
use model::rewards::reward_notice::RewardNotice;
use model::rewards::rewarding::Rewarding;
use storage::hot_store::{Committed, Group, Positions, StoreError};

/// Entries of one group. More wait for the next, so that no group takes long.
const GROUP_MAX: usize = 4_096;
/// Entries that are worth a group: the 100 µs of processor time that any group costs are then 1.6 µs for each.
const GROUP_WORTH: usize = 64;
/// The least pause at any rate, so that a busy store gets fewer and larger groups.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Commits the entries that the submit queues of one lane of the store have gathered; each lane has a committer.
///
/// An idle committer starts a group at once. A busy one gathers the next group while others are written, up to
/// [`Positions::groups_max`] at a time. The next group starts once about [`GROUP_WORTH`] entries have come, judged by
/// the recent rate, and no later than `interval` after the start of the last: a sync costs the same however many
/// entries it carries. Answers are handed back in the order in which the groups began.
///
/// After an error the outcome of a group is unknown. The same group is committed again until the store answers, and
/// nothing is acked meanwhile; a beat that is found stored counts as success. Groups that were in flight with it are
/// awaited, and those of unknown outcome are committed again, one after the other, before another group begins.
///
/// While the clock is in doubt ([`Clock::doubt`]) no group begins: entries wait in the submit queues, as when the store
/// is away.
///
/// Held slots are taken when their hold ends. A submit queue wakes the committer only for a hold that ends earlier than
/// all others known to it.
///
/// Listeners are called with a group when all of its answers are handed back. Their panics do not end the committer.
pub struct Committer {
    pub store: Arc<dyn Positions>,
    pub clock: Arc<Clock>,
    /// `None`: the store decides rewards itself.
    pub judge: Option<Arc<Judge>>,
    /// The submit queues, one for each thread.
    pub submit_queues: Vec<Arc<SubmitQueue>>,
    pub listeners: Vec<Arc<dyn CommitListener>>,
    /// Notified by the submit queues.
    pub wake: Arc<Notify>,
    pub interval: Duration,
    pub health: Arc<LaneHealth>,
    pub metrics: Metrics,
}

impl Committer {
    /// Runs until the store fails permanently, and returns the failure.
    pub async fn run(mut self) -> StoreError {
        let (store, groups_max) = (self.store.clone(), self.store.groups_max());
        let mut under_way = FuturesOrdered::new();
        let (mut notified, mut last, mut next) = (false, Instant::now(), Instant::now());
        // The memory of finished batches, for the next ones. There are at most as many as ran at the same time.
        let mut spare = Vec::new();
        let mut held_until = None;
        let mut doubt = self.clock.watch_doubt();
        loop {
            let room = under_way.len() < groups_max;
            let due = held_until.filter(|_| room && !notified);
            let doubted = doubt.borrow_and_update().is_some();
            tokio::select! {
                () = self.wake.notified(), if room && !notified => notified = true,
                () = sleep_until(due.unwrap_or(next)), if due.is_some() => notified = true,
                () = sleep_until(next), if room && notified && !doubted => {
                    notified = false;
                    match self.gather(spare.pop().unwrap_or_default(), &mut held_until) {
                        Ok(batch) => {
                            next = batch.began + pause(self.interval, batch.entries.len(), batch.began - last);
                            last = batch.began;
                            self.health.begins(batch.began);
                            under_way.push_back(commit(store.clone(), batch));
                        }
                        Err(NoBatch { lists, put_off }) => {
                            notified = put_off;
                            spare.push(lists);
                        }
                    }
                }
                Ok(()) = doubt.changed() => {}
                Some(first) = under_way.next() => {
                    if let Err(failure) = self.finish(first, &mut under_way, &mut spare).await {
                        return failure;
                    }
                }
            }
        }
    }

    /// Takes the waiting entries into these lists. `held_until` is set to the end of the hold that ends next.
    fn gather(&mut self, mut lists: Lists, held_until: &mut Option<Instant>) -> Result<Batch, NoBatch> {
        let now = self.clock.now();
        if self.clock.doubt().is_some() {
            return Err(NoBatch { lists, put_off: true });
        }
        // Another submit queue is the first each time, so that none waits behind full groups of the others.
        self.submit_queues.rotate_left(1);
        let entries = &mut lists.entries;
        let mut shares = Vec::with_capacity(self.submit_queues.len());
        let (mut next_due, instant) = (None, Instant::now().into_std());
        for submit_queue in &self.submit_queues {
            let start = entries.len();
            let due = submit_queue.take_into(entries, GROUP_MAX - start, instant);
            next_due = next_due.into_iter().chain(due).min();
            shares.push((submit_queue.clone(), entries.len() - start));
        }
        *held_until = next_due.map(Instant::from);
        self.clock.begin_to_judge();
        if entries.len() == GROUP_MAX {
            // There may be more, and no submit queue will wake the committer for it.
            self.wake.notify_one();
        }
        if entries.is_empty() {
            return Err(NoBatch { lists, put_off: false });
        }
        let rewards = self.judge.as_ref().map_or_else(Rewarding::none, |judge| judge.rewarding(now));
        let Lists { mut entries, mut asked, mut changes, heard } = lists;
        asked.extend(entries.iter().map(|entry| self.ask(entry, &rewards.today)));
        changes.extend(entries.iter_mut().zip(&asked).map(|(entry, asked)| entry.change(asked.open)));
        let senders = match self.judge {
            Some(_) => Vec::new(),
            None => entries.iter().map(Entry::sender).collect(),
        };
        let cold =
            entries.iter().enumerate().filter_map(|(index, entry)| Some((index, entry.cold()?.clone()))).collect();
        let group = Group { senders, cold, ..Group::new(now, changes, rewards) };
        Ok(Batch { entries, shares, asked, heard, group, began: Instant::now() })
    }

    /// Hands back the answer to the first group in flight. If its outcome is unknown, all groups in flight are
    /// completed.
    async fn finish(
        &self,
        first: Attempt,
        under_way: &mut FuturesOrdered<impl Future<Output = Attempt>>,
        spare: &mut Vec<Lists>,
    ) -> Result<(), StoreError> {
        let mut attempts = VecDeque::from([first]);
        while let Some((mut batch, answer)) = attempts.pop_front() {
            let committed = match answer {
                Ok(committed) => committed,
                Err(error) => {
                    self.put_off(error, &batch)?;
                    attempts.extend(under_way.collect::<Vec<_>>().await);
                    self.commit_until_known(&mut batch).await?
                }
            };
            self.metrics.committed(batch.began.elapsed());
            self.set_away(None);
            spare.push(self.answer(batch, committed));
        }
        // Otherwise the last to begin is still looked after.
        if under_way.is_empty() {
            self.health.ends();
        }
        Ok(())
    }

    /// Returns the lists of the batch, empty.
    fn answer(&self, batch: Batch, committed: Committed) -> Lists {
        let Batch { mut entries, shares, mut asked, heard, group, .. } = batch;
        let Group { mut changes, rewards, .. } = group;
        let cold = |outcome: &Outcome| matches!(outcome, Outcome::Cold(_));
        for (index, _) in committed.outcomes.iter().enumerate().filter(|(_, outcome)| cold(outcome)) {
            entries[index].take_back(&mut changes[index]);
        }
        self.metrics.observe(&entries, &committed.outcomes);
        if let Some(judge) = &self.judge
            && committed.decided.iter().any(|decided| judge.is_reward(decided))
        {
            judge.notify_relay();
        }
        let Committed { outcomes, decided, elsewhere, transitions, news } = committed;
        let mut heard = CommittedGroup { changes: heard, transitions };
        let mut elsewhere = elsewhere.into_iter().peekable();
        let told = (decided, news);
        let settled = self.settle(entries.drain(..).zip(outcomes), &asked, told, &rewards.today);
        let mut settled = settled.enumerate().map(|(index, completion)| {
            committed::add(&mut heard, index, &completion, elsewhere.next_if_eq(&index).is_some());
            completion
        });
        for (submit_queue, count) in shares.into_iter().filter(|(_, count)| *count > 0) {
            let mut answered = submit_queue.list();
            answered.extend(settled.by_ref().take(count));
            submit_queue.answer(answered);
        }
        drop(settled);
        heard.notify(&self.listeners, &self.metrics.listener_panics);
        let mut heard = heard.changes;
        heard.clear();
        asked.clear();
        changes.clear();
        Lists { entries, asked, changes, heard }
    }

    fn ask(&self, entry: &Entry, today: &RewardDay) -> OpenRules {
        match (entry, &self.judge) {
            (Entry::Slot(slot), Some(judge)) => judge.ask(slot.inbox.user, &slot.beat, slot.known, today),
            _ => OpenRules::default(),
        }
    }

    /// Remembers the decided rewards, and adds each to the answer of its beat.
    fn settle(
        &self,
        entries: impl Iterator<Item = (Entry, Outcome)>,
        asked: &[OpenRules],
        (decided, news): (Vec<Decided>, Vec<(usize, RewardNotice)>),
        today: &RewardDay,
    ) -> impl Iterator<Item = Completion> {
        let (mut decided, mut of_store) = (decided.into_iter().peekable(), news.into_iter().peekable());
        let mut of_this = Vec::new();
        entries.enumerate().map(move |(index, (entry, outcome))| {
            of_this.clear();
            of_this.extend(std::iter::from_fn(|| decided.next_if(|decided| decided.change == index)));
            let told = of_store.next_if(|(change, _)| *change == index).map(|(_, news)| news);
            let user = entry.inbox().user;
            let news = match (&entry, &self.judge) {
                (_, None) => told,
                (Entry::Slot(slot), Some(judge)) => {
                    let who = (user, slot.beat.content, slot.known);
                    judge.settle(who, asked[index], &of_this, today)
                }
                (Entry::Order { .. }, Some(judge)) => {
                    judge.follow(user, &outcome);
                    None
                }
            };
            let news = news.map(Box::new);
            Completion { entry, outcome, news }
        })
    }

    /// Commits a group until its outcome is known. Each new attempt takes the current time; the day stays the one for
    /// which the rules were asked.
    async fn commit_until_known(&self, batch: &mut Batch) -> Result<Committed, StoreError> {
        let mut backoff = Backoff::new(RETRY_FIRST, RETRY_MAX);
        loop {
            tokio::time::sleep(backoff.failed()).await;
            batch.group.now = self.clock.now();
            batch.began = Instant::now();
            self.health.begins(batch.began);
            match self.store.commit(&batch.group).await {
                Ok(committed) => return Ok(committed),
                Err(error) => self.put_off(error, batch)?,
            }
        }
    }

    /// Takes note of an error; returns it if the group must not be tried again.
    fn put_off(&self, error: StoreError, batch: &Batch) -> Result<(), StoreError> {
        self.health.ends();
        let before = self.set_away(Some(error.cause().to_owned()));
        if matches!(error, StoreError::Failed(_)) {
            return Err(error);
        }
        if !before {
            tracing::error!(
                event = "hot_store_unavailable",
                %error,
                slots = batch.entries.len(),
                "hot store unavailable; acks suspended, retrying"
            );
        }
        Ok(())
    }

    /// Sets why the lane is away; `None`: it is not. Returns whether it was before.
    fn set_away(&self, why: Option<String>) -> bool {
        let is_away = why.is_some();
        let before = self.health.set_away(why);
        if before && !is_away {
            tracing::info!(event = "hot_store_recovered", "hot store available again; acks resumed");
        }
        before
    }
}

/// There is no batch; the lists are returned.
struct NoBatch {
    lists: Lists,
    /// The clock is in doubt: entries may wait, and the submit queues will not wake the committer for them again.
    put_off: bool,
}

/// A batch and how its commit went.
type Attempt = (Batch, Result<Committed, StoreError>);

/// The time from the start of a group to that of the next, if the starting one has `entries` that came within `gap`.
fn pause(interval: Duration, entries: usize, gap: Duration) -> Duration {
    interval.min(gap.mul_f64(GROUP_WORTH as f64 / entries.max(1) as f64).max(PAUSE_MIN))
}

async fn commit(store: Arc<dyn Positions>, batch: Batch) -> Attempt {
    let answer = store.commit(&batch.group).await;
    (batch, answer)
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
