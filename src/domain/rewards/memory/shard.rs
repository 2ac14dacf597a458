//! What is remembered of the users of one shard.

use std::num::NonZeroUsize;

use super::Remembered;
use super::bitmaps::Bitmaps;
use super::estimate::Estimate;
use super::filter::Filter;
use super::recent::Recent;
use crate::model::ids::{Content, UserId};
use crate::model::rewards::day::Day;
use crate::model::rewards::rule::RuleSet;

/// One day, and the recent users. The first look-up of a new day drops the old one.
pub struct ShardMemory {
    /// The newest that was heard of.
    day: Option<Day>,
    /// Whether all claims of the day are in here, but for those that found no room.
    whole: bool,
    pub bitmaps: Bitmaps,
    /// By the places of the rules; those without a filter stay empty.
    filters: Vec<Filter>,
    recent: Recent,
    /// Switches of recording, and users erased, so far.
    switches: u64,
    /// No other gateway changes what is remembered here.
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

    /// What is known of the user, and whether the bitmaps had to be asked.
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
        // Of a user who was decided beyond the bound of the bitmaps, only the recent users know.
        let before = known.filter(|known| known.day == Some(day)).map_or(RuleSet::NONE, |known| known.decided);
        let known = self.recent.decided(user, day, self.bitmaps.decided(user).or(before), certain);
        (Remembered { decided: known.decided, certain, paused: known.paused }, true)
    }

    /// Those of `rules` that a filter knows to be decided.
    pub fn content_rules(&mut self, rules: RuleSet, user: UserId, content: Content, day: Day) -> RuleSet {
        if !self.change_day(day) {
            return RuleSet::NONE;
        }
        let knows = |place: &usize| self.filters.get(*place).is_some_and(|filter| filter.knows(user, content));
        rules.iter().filter(knows).collect()
    }

    pub fn mark_user(&mut self, place: usize, user: UserId, day: Day, claims_max: usize) {
        if self.change_day(day) {
            self.bitmaps.mark(place, user, claims_max);
            self.recent.mark(user, day, place);
        }
    }

    pub fn mark_content(&mut self, place: usize, user: UserId, content: Content, day: Day, estimate: &Estimate) {
        if self.change_day(day) {
            if self.filters.len() <= place {
                self.filters.resize_with(place + 1, Filter::default);
            }
            self.filters[place].mark(user, content, estimate);
        }
    }

    /// All claims of the day that were made before this process began are marked.
    ///
    /// If another day has begun meanwhile, all its claims were made here.
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

    /// What was read while `switches` was as it was then.
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

    pub fn filter(&self, place: usize) -> Option<&Filter> {
        self.filters.get(place)
    }

    /// Comes to `day`; `false`: it is over, and nothing is kept of it.
    fn change_day(&mut self, day: Day) -> bool {
        if self.day < Some(day) {
            // What is claimed on a day that begins here is claimed here.
            self.whole = self.alone && self.day.is_some();
            self.day = Some(day);
            self.bitmaps = Bitmaps::default();
            self.filters = Vec::new();
        }
        self.day == Some(day)
    }
}
