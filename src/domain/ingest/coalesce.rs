//! One slot per connection, content and session: in it the newest beat speaks for all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::domain::devices::inbox::{BeatRef, Inbox};
use crate::domain::rewards::decisions::DecidedRules;
use crate::model::beat::Beat;
use crate::model::change::{Action, Change};
use crate::model::ids::{ConnectionId, Content, SessionId};
use crate::model::rewards::rule::RuleSet;

/// The beats of one slot lie within so many milliseconds of `at`, so that a long absence stays more than one point.
const SLOT_SPAN_MS_MAX: u64 = 60_000;

/// A beat that takes part in a commit, and what it speaks for.
#[derive(Debug)]
pub struct Slot {
    pub inbox: Arc<Inbox>,
    /// The name of the device that sent the beat.
    pub device: Arc<str>,
    /// The newest so far.
    pub beat: Beat,
    /// Where that one stood: its frame, and its place in the frame.
    pub place: BeatRef,
    /// What is decided already.
    pub known: DecidedRules,
    /// How many beats came together here.
    pub beats: u64,
    /// When the first of them was read.
    pub opened: Instant,
    oldest_at: u64,
    newest_at: u64,
}

/// What waits for the next group, in the order in which it came.
#[derive(Debug)]
pub enum Entry {
    Slot(Slot),
    /// A forgetting or a switch. The sender waits for its answer before it sends another.
    Order {
        inbox: Arc<Inbox>,
        action: Action,
    },
}

/// The slots and orders that no group has taken yet.
#[derive(Debug, Default)]
pub struct Slots {
    entries: std::collections::VecDeque<Entry>,
    /// How many entries have been taken; an entry's number is its place plus this.
    taken: usize,
    /// The newest slot of each key, by its number.
    open: HashMap<Key, usize>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key(ConnectionId, Content, SessionId);

impl Slot {
    pub fn new(
        inbox: Arc<Inbox>,
        device: Arc<str>,
        beat: Beat,
        place: BeatRef,
        known: DecidedRules,
        opened: Instant,
    ) -> Self {
        Slot { inbox, device, place, known, beats: 1, opened, oldest_at: beat.at, newest_at: beat.at, beat }
    }

    fn key(&self) -> Key {
        Key(self.inbox.id, self.beat.content, self.beat.session)
    }

    /// Whether a beat of the same key is near enough to join.
    pub fn reaches(&self, at: u64) -> bool {
        self.newest_at.max(at) - self.oldest_at.min(at) <= SLOT_SPAN_MS_MAX
    }

    pub fn join(&mut self, other: Slot) {
        self.oldest_at = self.oldest_at.min(other.oldest_at);
        self.newest_at = self.newest_at.max(other.newest_at);
        self.beats += other.beats;
        self.known = self.known.joined(other.known);
        if other.beat.at > self.beat.at {
            (self.beat, self.place, self.device) = (other.beat, other.place, other.device);
        }
    }
}

impl Entry {
    pub fn inbox(&self) -> &Arc<Inbox> {
        match self {
            Entry::Slot(slot) => &slot.inbox,
            Entry::Order { inbox, .. } => inbox,
        }
    }

    /// What the store is asked to do; `asks`: the rules that are open for a beat.
    pub fn change(&self, asks: RuleSet) -> Change {
        let action = match self {
            Entry::Slot(slot) => Action::Beat { beat: slot.beat, device: slot.device.clone(), asks },
            Entry::Order { action, .. } => action.clone(),
        };
        Change { user: self.inbox().user, action }
    }
}

impl Slots {
    /// True: it took a slot of its own.
    pub fn add(&mut self, slot: Slot) -> bool {
        let next = self.taken + self.entries.len();
        let number = self.open.entry(slot.key()).or_insert(next);
        if let Some(Entry::Slot(open)) = self.entries.get_mut(*number - self.taken)
            && open.reaches(slot.beat.at)
        {
            open.join(slot);
            return false;
        }
        *number = next;
        self.entries.push_back(Entry::Slot(slot));
        true
    }

    pub fn order(&mut self, inbox: Arc<Inbox>, action: Action) {
        self.entries.push_back(Entry::Order { inbox, action });
    }

    /// Moves the oldest entries, at most `max`, to `group`. Nothing joins them any more.
    pub fn take_into(&mut self, group: &mut Vec<Entry>, max: usize) {
        let count = self.entries.len().min(max);
        self.taken += count;
        group.extend(self.entries.drain(..count));
        if self.entries.is_empty() {
            self.open.clear();
        } else {
            self.open.retain(|_, number| *number >= self.taken);
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::devices::inbox::tests::inbox;
    use crate::model::beat::State;
    use crate::model::forgetting::{ContentRow, UserRow};
    use crate::model::ids::UserId;
    use crate::model::moment::Moment;
    use crate::model::rule::judge;
    use proptest::prelude::*;

    fn beat(oid: u64, session: u64, at: u64) -> Beat {
        let content = Content { kind: 1, oid };
        let session = SessionId(session);
        Beat { content, pos: at, dur: 0, state: State::Playing, session, watched: at, rate: 1.0, at }
    }

    fn slot(inbox: &Arc<Inbox>, beat: Beat, seq: u32) -> Slot {
        Slot::new(
            inbox.clone(),
            Arc::from(""),
            beat,
            BeatRef { seq, index: 0 },
            DecidedRules::default(),
            Instant::now(),
        )
    }

    fn beats_of(slots: &mut Slots, max: usize) -> Vec<(u64, u64, u64)> {
        let mut group = Vec::new();
        slots.take_into(&mut group, max);
        let beats = group.iter().filter_map(|entry| match entry {
            Entry::Slot(slot) => Some((slot.beat.session.0, slot.beat.at, slot.beats)),
            Entry::Order { .. } => None,
        });
        beats.collect()
    }

    #[test]
    fn the_newest_speaks_for_its_session_and_no_other() {
        let (one, mut slots) = (inbox(UserId(1)), Slots::default());
        for (session, at) in [(1, 10), (1, 30), (1, 20), (2, 25)] {
            slots.add(slot(&one, beat(100, session, at), 1));
        }
        assert_eq!(beats_of(&mut slots, 9), [(1, 30, 3), (2, 25, 1)]);
    }

    #[test]
    fn a_slot_spans_at_most_a_minute() {
        let (one, mut slots) = (inbox(UserId(1)), Slots::default());
        for at in [100_000, 40_000, 160_001, 160_002] {
            slots.add(slot(&one, beat(100, 1, at), 1));
        }
        assert_eq!(beats_of(&mut slots, 9), [(1, 100_000, 2), (1, 160_002, 2)]);
    }

    #[test]
    fn connections_do_not_share_slots() {
        let mut slots = Slots::default();
        assert!(slots.add(slot(&inbox(UserId(1)), beat(100, 1, 10), 1)));
        assert!(slots.add(slot(&inbox(UserId(1)), beat(100, 1, 20), 1)));
    }

    #[test]
    fn nothing_joins_what_a_group_has_taken() {
        let (one, mut slots) = (inbox(UserId(1)), Slots::default());
        slots.add(slot(&one, beat(100, 1, 10), 1));
        slots.add(slot(&one, beat(200, 1, 10), 1));
        assert_eq!(beats_of(&mut slots, 1), [(1, 10, 1)]);
        assert!(slots.add(slot(&one, beat(100, 1, 11), 2)));
        assert!(!slots.add(slot(&one, beat(200, 1, 12), 2)));
        assert_eq!(beats_of(&mut slots, 9), [(1, 12, 2), (1, 11, 1)]);
    }

    proptest! {
        /// However the beats are grouped and coalesced, what is kept is what would be kept without slots.
        #[test]
        fn coalescing_changes_nothing_of_what_is_kept(
            beats in prop::collection::vec((0u64..3, 1u64..3, 1u64..200_000), 0..60),
            tombstone in 0u64..200_000,
            groups in prop::collection::vec(1usize..9, 0..20),
        ) {
            let one = inbox(UserId(1));
            let beats: Vec<Beat> = beats.into_iter().map(|(oid, session, at)| beat(oid, session, at)).collect();
            let mut rows: HashMap<Content, ContentRow> = HashMap::new();
            for oid in 0..3 {
                rows.entry(Content { kind: 1, oid }).or_default().delete(tombstone);
            }
            let keep = |rows: &mut HashMap<Content, ContentRow>, beat: &Beat| {
                judge(&UserRow::default(), rows.entry(beat.content).or_default(), beat, &Arc::from(""), &Moment::default());
            };
            let mut expected = rows.clone();
            beats.iter().for_each(|beat| keep(&mut expected, beat));

            let (mut slots, mut group, mut sizes) = (Slots::default(), Vec::new(), groups.into_iter());
            for each in &beats {
                slots.add(slot(&one, *each, 1));
                if each.at % 3 == 0 {
                    slots.take_into(&mut group, sizes.next().unwrap_or(1));
                }
            }
            slots.take_into(&mut group, usize::MAX);
            for entry in &group {
                let Entry::Slot(slot) = entry else { unreachable!("only beats were added") };
                keep(&mut rows, &slot.beat);
            }
            let stamps = |rows: &HashMap<Content, ContentRow>| {
                let mut all: Vec<_> = rows.values().filter_map(|row| row.record.as_ref()).map(|r| (r.content, r.stamp())).collect();
                all.sort();
                all
            };
            prop_assert_eq!(stamps(&rows), stamps(&expected));
        }
    }
}
