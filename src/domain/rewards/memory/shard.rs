//! The memory of one shard.

use std::num::NonZeroUsize;

use super::Remembered;
use super::bitmaps::Bitmaps;
use super::estimate::Estimate;
use super::filter::Filter;
use super::recent::Recent;
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use model::rewards::rule::RuleSet;

/// The claims of one day, and the recent users. The first call for a new day drops the old day.
pub struct ShardMemory {
    /// The newest day of any call.
    day: Option<Day>,
    /// Whether all claims of the day are marked here, except those that found the bitmaps full.
    whole: bool,
    pub bitmaps: Bitmaps,
    /// By the indexes of the rules; those without a filter stay empty.
    filters: Vec<Filter>,
    recent: Recent,
    /// The number of switches of recording and erasures so far.
    switches: u64,
    /// No other gateway changes users of this store.
    alone: bool,
}

impl ShardMemory {
    pub fn new(recent_max: NonZeroUsize, alone: bool) -> Self {
        ShardMemory {
            day: None,
            whole: false,
            bitmaps: Bitmaps::default(),
            filters: Vec::new(),
            recent: Recent::new(recent_max),
            switches: 0,
            alone,
        }
    }

    /// The known decisions for the user, and whether the bitmaps were searched.
    pub fn user_rules(&mut self, user: UserId, day: Day) -> (Remembered, bool) {
        let known = self.recent.get(user);
        if !self.change_day(day) {
            let paused = known.and_then(|known| known.paused);
            return (Remembered { decided: RuleSet::NONE, certain: false, paused }, false);
        }
        let certain = self.whole && self.bitmaps.whole();
        if let Some(known) = known.filter(|known| known.day == Some(day) && (known.certain || !certain)) {
            return (Remembered { decided: known.decided, certain: known.certain, paused: known.paused }, false);
        }
        // Decisions beyond the bound of the bitmaps are known only for recent users.
        let before = known.filter(|known| known.day == Some(day)).map_or(RuleSet::NONE, |known| known.decided);
        let known = self.recent.decided(user, day, self.bitmaps.decided(user).or(before), certain);
        (Remembered { decided: known.decided, certain, paused: known.paused }, true)
    }

    /// The rules of `rules` that a filter knows as decided.
    pub fn content_rules(&mut self, rules: RuleSet, user: UserId, content: Content, day: Day) -> RuleSet {
        if !self.change_day(day) {
            return RuleSet::NONE;
        }
        let knows = |index: &usize| self.filters.get(*index).is_some_and(|filter| filter.knows(user, content));
        rules.iter().filter(knows).collect()
    }

    pub fn mark_user(&mut self, index: usize, user: UserId, day: Day, claims_max: usize) {
        if self.change_day(day) {
            self.bitmaps.mark(index, user, claims_max);
            self.recent.mark(user, day, index);
        }
    }

    pub fn mark_content(&mut self, index: usize, user: UserId, content: Content, day: Day, estimate: &Estimate) {
        if self.change_day(day) {
            if self.filters.len() <= index {
                self.filters.resize_with(index + 1, Filter::default);
            }
            self.filters[index].mark(user, content, estimate);
        }
    }

    /// Marks the day as complete: all its claims from before the start of the process are marked.
    ///
    /// If another day has begun in between, all claims of that day were made by this process.
    pub fn filled(&mut self, day: Day) {
        self.change_day(day);
        self.whole = self.alone;
    }

    pub fn switches(&self) -> u64 {
        self.switches
    }

    pub fn switched(&mut self, user: UserId, paused: bool) {
        self.switches += 1;
        if self.alone {
            self.recent.switched(user, paused);
        }
    }

    /// Remembers a state that was read when `switches` had this value.
    pub fn learned_paused(&mut self, user: UserId, paused: bool, switches: u64) {
        if self.alone && self.switches == switches {
            self.recent.learned(user, paused);
        }
    }

    pub fn forget(&mut self, user: UserId) {
        self.switches += 1;
        self.recent.forget(user);
        self.bitmaps.forget(user);
    }

    pub fn day(&self) -> Option<Day> {
        self.day
    }

    pub fn filter(&self, index: usize) -> Option<&Filter> {
        self.filters.get(index)
    }

    /// Moves on to `day`. False: the day is over, and its claims are no longer kept.
    fn change_day(&mut self, day: Day) -> bool {
        if self.day < Some(day) {
            // A day that begins while this process runs has only claims of this process.
            self.whole = self.alone && self.day.is_some();
            self.day = Some(day);
            self.bitmaps = Bitmaps::default();
            self.filters = Vec::new();
        }
        self.day == Some(day)
    }
}
