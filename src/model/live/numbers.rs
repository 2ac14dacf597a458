//! All live numbers of one gateway.

use std::collections::{HashMap, VecDeque};

use super::change::{LiveChange, Played};
use super::contents::{Contents, Counts};
use super::series::{MINUTES, SECONDS, Series};
use super::sessions::{Effect, NONE, Sessions};
use super::shares::Shares;
use super::top::Ranking;
use super::visits::{Visit, Visits};
use crate::ids::{Content, UserId};

/// Kicks that are remembered, so that beats from before them bring nothing back.
const KICKS_MAX: usize = 65_536;
/// How often the error of the ranking is made as small as it can be, seconds.
const REBUILD_INTERVAL: u64 = 60;

/// Changes whose sessions are looked up together: few enough that all of them stay in the processor's nearest cache.
const CHUNK: usize = 64;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Live sessions.
    pub sessions: usize,
    /// Contents that are ranked.
    pub top: usize,
    /// Visits.
    pub tail: usize,
}

/// Follows the changes in their order, and the clock.
pub struct LiveNumbers {
    timeout: u64,
    sessions: Sessions,
    contents: Contents,
    series: Series,
    visits: Visits,
    kicks: Kicks,
    uncounted: u64,
}

impl LiveNumbers {
    /// `timeout`: milliseconds.
    pub fn new(timeout: u64, sizes: Sizes) -> Self {
        LiveNumbers {
            timeout,
            sessions: Sessions::new(timeout, sizes.sessions),
            contents: Contents::new(sizes.top),
            series: Series::new(),
            visits: Visits::new(sizes.tail),
            kicks: Kicks::default(),
            uncounted: 0,
        }
    }

    /// Counts the users of these kinds apart, from the start; empty: those of all kinds.
    pub fn with_public_kinds(mut self, kinds: Vec<u16>) -> Self {
        self.contents.public_kinds = kinds;
        self
    }

    /// Applies the changes in their order.
    pub fn apply(&mut self, changes: &[LiveChange], now: u64) {
        for chunk in changes.chunks(CHUNK) {
            let mut indexes = [NONE; CHUNK];
            self.sessions.look_up(chunk, &mut indexes);
            chunk.iter().zip(indexes).for_each(|(change, index)| self.apply_one(*change, index, now));
        }
    }

    fn apply_one(&mut self, change: LiveChange, index: u32, now: u64) {
        let contents = &mut self.contents;
        match change {
            LiveChange::Playing(played) => {
                let Played { user, content, at, visitor, .. } = played;
                if self.kicks.covers(user, at) {
                    return;
                }
                match self.sessions.play(played, index, now, contents) {
                    Effect::Same => {}
                    Effect::Visit => self.visits.push(Visit { at, content, visitor }),
                    Effect::Full => self.uncounted += 1,
                }
            }
            LiveChange::Ended { user, session, at } => self.sessions.finish(user, session, at, contents),
            LiveChange::Erased(user) => self.sessions.dismiss(user, contents),
            LiveChange::Kicked { user, at } => {
                self.sessions.dismiss(user, contents);
                self.kicks.add(user, at);
            }
        }
    }

    /// Ends what has run out.
    pub fn run_out(&mut self, now: u64) {
        self.sessions.run_out(now, &mut self.contents);
        self.kicks.forget_before(now.saturating_sub(self.timeout));
    }

    /// Notes the counts for this second, and for those since the last one that was noted.
    pub fn note(&mut self, now: u64) {
        let (second, all) = (now / 1000, self.sessions());
        let noted = self.series.noted();
        if self.contents.top.error(all) > 0
            && noted.is_none_or(|noted| noted / REBUILD_INTERVAL != second / REBUILD_INTERVAL)
        {
            self.contents.rebuild_top();
        }
        self.series.note(second, all as u32);
        self.contents.top.note(second, all);
    }

    pub fn sessions(&self) -> u64 {
        self.sessions.count() as u64
    }

    pub fn users(&self) -> u64 {
        self.sessions.users() as u64
    }

    /// Beats that were not counted because there were too many sessions.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Sessions of each kind that has some, by kind.
    pub fn kinds(&self) -> Vec<(u16, u32)> {
        self.contents.kinds()
    }

    pub fn counts(&self, content: Content) -> Counts {
        self.contents.counts(content)
    }

    /// The contents whose counts have changed since the last call, with their counts. One may be there twice.
    pub fn take_changed(&mut self) -> Vec<(Content, Counts)> {
        self.contents.take_changed()
    }

    pub fn top(&self) -> Ranking {
        self.contents.top.now(self.sessions())
    }

    /// Users with a session in one of the public kinds.
    pub fn public_users(&self) -> u64 {
        match self.contents.public_kinds.is_empty() {
            true => self.users(),
            false => self.contents.public_users.into(),
        }
    }

    /// The contents of the public kinds with the most sessions, ordered by their users; equals by kind and oid.
    pub fn public_top(&self) -> Vec<(Content, u32)> {
        let ranked = match &*self.contents.public_kinds {
            [] => self.top().ranked,
            kinds => self.contents.top.of_kinds(kinds),
        };
        let mut top: Vec<_> = ranked.iter().map(|one| (one.content, self.counts(one.content).users)).collect();
        top.sort_unstable_by_key(|(content, users)| (std::cmp::Reverse(*users), *content));
        top
    }

    pub fn rising(&self) -> Ranking {
        self.contents.top.rising(self.sessions())
    }

    /// The shares of the live sessions.
    pub fn shares(&self) -> Shares {
        self.sessions.shares().clone()
    }

    pub fn seconds(&self) -> [u32; SECONDS] {
        self.series.seconds()
    }

    pub fn minutes(&self) -> [u32; MINUTES] {
        self.series.minutes()
    }

    /// The newest first.
    pub fn visits(&self) -> Vec<Visit> {
        self.visits.newest_first()
    }
}

/// When users were kicked, as long as a beat from before it could count. A beat may be committed after the kick.
#[derive(Default)]
struct Kicks {
    by_user: HashMap<UserId, u64>,
    /// In their order.
    queue: VecDeque<(u64, UserId)>,
}

impl Kicks {
    fn covers(&self, user: UserId, at: u64) -> bool {
        !self.by_user.is_empty() && self.by_user.get(&user).is_some_and(|kicked| at <= *kicked)
    }

    fn add(&mut self, user: UserId, at: u64) {
        if self.queue.len() == KICKS_MAX {
            self.forget_first();
        }
        self.by_user.insert(user, at);
        self.queue.push_back((at, user));
    }

    fn forget_before(&mut self, at: u64) {
        while self.queue.front().is_some_and(|(kicked, _)| *kicked < at) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some((at, user)) = self.queue.pop_front() else { return };
        if self.by_user.get(&user) == Some(&at) {
            self.by_user.remove(&user);
        }
    }
}
