//! The switches with which a user stops and resumes being recorded.

/// "From `at` on, recording is paused" (or is not).
///
/// The order is by moment; at one and the same moment the pause comes last, and so holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Switch {
    /// Server-clock milliseconds.
    pub at: u64,
    pub paused: bool,
}

/// A user's switches, sorted. The paused intervals follow from them, whatever the order in which they arrived.
///
/// Bounded by [`Recording::SWITCHES_MAX`]: when full, the expired go first, then resumes that repeat a resume; then the
/// two oldest paused intervals become one, and the time up to its end is `frozen`: a resume that arrives late for it is
/// ignored. So more is refused than was asked for, never less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    switches: Vec<Switch>,
    frozen: u64,
}

impl Recording {
    pub const SWITCHES_MAX: usize = 128;

    /// As read from a store.
    pub fn from_parts(mut switches: Vec<Switch>, frozen: u64) -> Self {
        switches.sort_unstable();
        Recording { switches, frozen }
    }

    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// Up to here (milliseconds) a late resume is ignored; 0 = nothing is frozen.
    pub fn frozen(&self) -> u64 {
        self.frozen
    }

    /// The newest switch.
    pub fn last(&self) -> Option<Switch> {
        self.switches.last().copied()
    }

    /// The state after the newest switch.
    pub fn paused(&self) -> bool {
        self.last().is_some_and(|switch| switch.paused)
    }

    /// Whether `at` lies inside a paused interval. Both of its ends belong to it.
    pub fn covers(&self, at: u64) -> bool {
        let after = self.switches.partition_point(|switch| switch.at <= at);
        let state_after = after > 0 && self.switches[after - 1].paused;
        let strictly_before = self.switches.partition_point(|switch| switch.at < at);
        let state_before = strictly_before > 0 && self.switches[strictly_before - 1].paused;
        state_after || state_before || self.switches[strictly_before..after].iter().any(|s| s.paused)
    }

    /// Whether any moment from `start` to `end` lies inside a paused interval.
    pub fn paused_between(&self, start: u64, end: u64) -> bool {
        let within = self.switches.partition_point(|switch| switch.at < start);
        let mut begun = self.switches[within..].iter().take_while(|switch| switch.at <= end);
        self.covers(start) || begun.any(|switch| switch.paused)
    }

    /// Adds a switch; `horizon` (now − retention, milliseconds) says what may go to make room. False: nothing changed.
    pub fn switch(&mut self, switch: Switch, horizon: u64) -> bool {
        if !switch.paused && switch.at <= self.frozen {
            return false;
        }
        let Err(index) = self.switches.binary_search(&switch) else {
            return false;
        };
        self.switches.insert(index, switch);
        if self.switches.len() > Self::SWITCHES_MAX {
            self.drop_expired(horizon);
        }
        if self.switches.len() > Self::SWITCHES_MAX {
            self.drop_repeated_resumes();
        }
        if self.switches.len() > Self::SWITCHES_MAX {
            self.merge_oldest();
        }
        true
    }

    /// Only the newest switch before the horizon still says something about the time after it.
    pub fn drop_expired(&mut self, horizon: u64) -> bool {
        let before = self.switches.partition_point(|switch| switch.at < horizon);
        let keep_last = before > 0 && self.switches[before - 1].paused;
        let gone = before - usize::from(keep_last);
        self.switches.drain(..gone);
        gone > 0
    }

    /// Drops all that was switched up to `at`.
    pub fn erase(&mut self, at: u64) {
        self.switches.retain(|switch| switch.at > at);
        if self.frozen <= at {
            self.frozen = 0;
        }
    }

    /// A resume that follows a resume says nothing now.
    fn drop_repeated_resumes(&mut self) {
        let mut paused = false;
        self.switches.retain(|switch| std::mem::replace(&mut paused, switch.paused) || switch.paused);
    }

    /// Folds all up to the end of the second paused interval into one interval.
    fn merge_oldest(&mut self) {
        let Some(start) = self.switches.iter().position(|switch| switch.paused) else {
            return;
        };
        let resumes = |at: &usize| !self.switches[*at].paused;
        let second_end = (start + 1..self.switches.len()).filter(resumes).nth(1);
        let end = second_end.or_else(|| (!self.paused()).then(|| self.switches.len() - 1));
        let last = end.unwrap_or(self.switches.len() - 1);
        self.frozen = self.frozen.max(self.switches[last].at);
        let mut merged = vec![self.switches[start]];
        merged.extend(end.map(|end| self.switches[end]));
        self.switches.splice(..=last, merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn switch(at: u64, paused: bool) -> Switch {
        Switch { at, paused }
    }

    /// The definition, switch by switch, without a bound.
    fn covered_by_definition(switches: &[Switch], at: u64) -> bool {
        let mut sorted = switches.to_vec();
        sorted.sort_unstable();
        sorted.iter().enumerate().any(|(i, pause)| {
            let end = sorted[i + 1..].iter().find(|next| !next.paused);
            pause.paused && pause.at <= at && end.is_none_or(|end| at <= end.at)
        })
    }

    #[test]
    fn both_ends_belong_to_a_paused_interval() {
        let mut recording = Recording::default();
        recording.switch(switch(10, true), 0);
        recording.switch(switch(20, false), 0);
        let covered: Vec<u64> = (8..23).filter(|at| recording.covers(*at)).collect();
        assert_eq!(covered, (10..=20).collect::<Vec<_>>());
        assert!(!recording.paused());
    }

    #[test]
    fn a_repeated_switch_changes_nothing() {
        let mut recording = Recording::default();
        assert!(recording.switch(switch(10, true), 0));
        assert!(!recording.switch(switch(10, true), 0));
    }

    proptest! {
        #[test]
        fn intervals_follow_from_the_switches_in_any_order(
            switches in prop::collection::vec((0u64..60, any::<bool>()), 0..40).prop_shuffle()
        ) {
            let switches: Vec<Switch> = switches.into_iter().map(|(at, paused)| switch(at, paused)).collect();
            let mut recording = Recording::default();
            for each in &switches {
                recording.switch(*each, 0);
            }
            for at in 0..70 {
                prop_assert_eq!(recording.covers(at), covered_by_definition(&switches, at), "at {}", at);
            }
            for (start, end) in (0..70).flat_map(|start| (start..70).map(move |end| (start, end))) {
                let paused = (start..=end).any(|at| recording.covers(at));
                prop_assert_eq!(recording.paused_between(start, end), paused, "from {} to {}", start, end);
            }
        }

        #[test]
        fn a_full_list_of_switches_never_loses_a_paused_interval(
            switches in prop::collection::vec((0u64..2000, any::<bool>()), 100..600)
        ) {
            let switches: Vec<Switch> = switches.into_iter().map(|(at, paused)| switch(at, paused)).collect();
            let mut recording = Recording::default();
            for each in &switches {
                recording.switch(*each, 0);
                prop_assert!(recording.switches().len() <= Recording::SWITCHES_MAX);
            }
            for at in 0..2010 {
                prop_assert!(recording.covers(at) || !covered_by_definition(&switches, at), "at {}", at);
            }
        }

        #[test]
        fn expired_switches_do_not_change_what_the_retention_still_holds(
            switches in prop::collection::vec((0u64..400, any::<bool>()), 0..100), horizon in 0u64..400
        ) {
            let mut recording = Recording::default();
            for (at, paused) in switches {
                recording.switch(switch(at, paused), 0);
            }
            let mut pruned = recording.clone();
            pruned.drop_expired(horizon);
            for at in horizon..410 {
                prop_assert_eq!(recording.covers(at), pruned.covers(at), "at {}", at);
            }
        }
    }
}
