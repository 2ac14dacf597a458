//! Group commit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::coalesce::Entry;
use super::health::{StoreHealth, Watch};
use super::lane::{Answered, Lane};
use super::metrics::Metrics;
use crate::domain::clock::Clock;
use crate::domain::rewards::judge::{Asked, Judge};
use crate::model::change::Decided;
use crate::model::rewards::calendar::RewardDay;
use crate::storage::hot_store::{Committed, Group, HotStore, StoreError};

/// Entries of one group. More wait for the next, so that no group takes long.
const GROUP_MAX: usize = 4_096;
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Is told of every group, in the order of the commits, after everybody who waits for an ack. Must not block.
pub trait CommitListener: Send + Sync {
    fn committed(&self, answered: &[Answered]);
}

/// Writes what the lanes have gathered, one group at a time.
///
/// Idle, a group starts at once. Busy, the next one gathers while one is written, and starts no sooner than `interval`
/// after the last began, since a sync costs the same whatever it carries. An error is no answer: the same group is
/// committed again until the store knows (finding its own beats stored is success), and nothing is acked meanwhile.
pub struct Committer {
    pub store: Arc<dyn HotStore>,
    pub clock: Arc<Clock>,
    pub judge: Judge,
    pub lanes: Vec<Arc<Lane>>,
    pub listeners: Vec<Arc<dyn CommitListener>>,
    /// Rung by the lanes.
    pub bell: Arc<Notify>,
    pub interval: Duration,
    pub health: Arc<StoreHealth>,
    pub metrics: Metrics,
}

impl Committer {
    /// What looks after the commits, on another thread.
    pub fn watch(&self) -> Watch {
        Watch { health: self.health.clone(), metrics: self.metrics.clone() }
    }

    /// Runs until the store fails for good, and says how.
    pub async fn run(mut self) -> StoreError {
        let mut began: Option<Instant> = None;
        loop {
            self.bell.notified().await;
            if let Some(began) = began {
                tokio::time::sleep_until(began + self.interval).await;
            }
            began = Some(Instant::now());
            if let Err(failure) = self.commit_what_waits().await {
                return failure;
            }
        }
    }

    async fn commit_what_waits(&mut self) -> Result<(), StoreError> {
        // Another lane is the first each time, so that none waits behind full groups of the others.
        self.lanes.rotate_left(1);
        let mut entries = Vec::new();
        let mut ends = Vec::with_capacity(self.lanes.len());
        for lane in &self.lanes {
            let room = GROUP_MAX - entries.len();
            lane.take_into(&mut entries, room);
            ends.push(entries.len());
        }
        if entries.len() == GROUP_MAX {
            // There may be more, and nobody has to ring for it.
            self.bell.notify_one();
        }
        if entries.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let rewarding = self.judge.rewarding(now);
        let today = rewarding.today.clone();
        let asked: Vec<Asked> = entries.iter().map(|entry| self.ask(entry, &today)).collect();
        let changes = entries.iter().zip(&asked).map(|(entry, asked)| entry.change(asked.open)).collect();
        let group = Group { now, changes, rewards: rewarding };
        let committed = self.commit_until_known(group).await?;
        self.metrics.observe(&entries, &committed.outcomes);
        let answered = self.settle(entries, &asked, committed, &today);
        self.hand_back(&Arc::new(answered), &ends);
        Ok(())
    }

    fn ask(&self, entry: &Entry, today: &RewardDay) -> Asked {
        match entry {
            Entry::Slot(slot) => self.judge.ask(slot.mailbox.user, slot.beat.content, slot.known, today),
            Entry::Order { .. } => Asked::default(),
        }
    }

    /// Remembers what was decided, and puts it together with those it concerns.
    fn settle(&self, entries: Vec<Entry>, asked: &[Asked], committed: Committed, today: &RewardDay) -> Vec<Answered> {
        if committed.decided.iter().any(|decided| decided.claim.is_some()) {
            self.judge.bell.notify_one();
        }
        let mut decided = committed.decided.chunk_by(|one, other| one.change == other.change).peekable();
        let answer = |(place, (entry, outcome)): (usize, (Entry, _))| {
            let of_this = |chunk: &&[Decided]| chunk[0].change == place;
            let decided = decided.next_if(of_this).unwrap_or_default();
            let mailbox = entry.mailbox();
            let news = match &entry {
                Entry::Slot(slot) => {
                    let who = (mailbox.user, slot.beat.content, slot.known);
                    self.judge.settle(who, asked[place], decided, today).map(Box::new)
                }
                Entry::Order { .. } => {
                    self.judge.follow(mailbox.user, &outcome);
                    None
                }
            };
            Answered { entry, outcome, news }
        };
        entries.into_iter().zip(committed.outcomes).enumerate().map(answer).collect()
    }

    fn hand_back(&self, group: &Arc<Vec<Answered>>, ends: &[usize]) {
        let mut start = 0;
        for (lane, end) in self.lanes.iter().zip(ends) {
            lane.answer(group, start..*end);
            start = *end;
        }
        for listener in &self.listeners {
            listener.committed(group);
        }
    }

    async fn commit_until_known(&self, mut group: Group) -> Result<Committed, StoreError> {
        let mut pause = RETRY_FIRST;
        loop {
            let started = Instant::now();
            self.health.begins(started);
            let answer = self.store.commit(&group).await;
            self.health.ends();
            match answer {
                Ok(committed) => {
                    self.metrics.committed(started.elapsed());
                    self.set_away(false);
                    return Ok(committed);
                }
                Err(failure @ StoreError::Failed(_)) => {
                    self.set_away(true);
                    return Err(failure);
                }
                Err(error @ StoreError::Away(_)) => {
                    if !self.set_away(true) {
                        tracing::error!(%error, slots = group.changes.len(), "commits wait");
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RETRY_MAX);
                    group.now = self.clock.now();
                }
            }
        }
    }

    /// Returns whether it was away before.
    fn set_away(&self, away: bool) -> bool {
        let before = self.health.set_away(away);
        if before != away {
            self.metrics.store_ok(!away);
            if !away {
                tracing::info!("commits go on");
            }
        }
        before
    }
}
