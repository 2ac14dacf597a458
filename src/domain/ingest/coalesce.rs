//! One slot per connection, content and session: only the newest beat of a slot that was not played in a pause is
//! stored.
//!
//! Pauses of recording are known only at the commit, since a pause may be committed while a slot waits. So a slot keeps
//! all of its beats, and the model tries them from the newest back until one is accepted. Only that one is stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::devices::inbox::{BeatRef, Inbox};
use model::beat::Beat;
use model::change::{Action, Change};
use model::cold::ColdRows;
use model::ids::{ConnectionId, Content, SessionId};
use model::rewards::decided::DecidedRules;
use model::rewards::rule::RuleSet;
use model::sender::Sender;

/// The most that the `at` of the beats in one slot may differ, milliseconds: so the beats of a long absence leave more
/// than one change.
const SLOT_SPAN_MS_MAX: u64 = 60_000;
/// Beats of one slot, more than a frame has by default. The next beat opens another slot.
const SLOT_BEATS_MAX: usize = 512;

/// Beats that are committed together: the newest accepted one stands for the others.
#[derive(Debug)]
pub struct Slot {
    pub inbox: Arc<Inbox>,
    /// The name of the device that sent the beat.
    pub device: Arc<str>,
    /// The newest so far.
    pub beat: Beat,
    /// The beats before it, the oldest first; taken out when [the store is asked](Entry::change).
    earlier: Vec<Beat>,
    /// The frame and the index of each earlier beat, in the same order.
    earlier_refs: Vec<BeatRef>,
    beat_ref: BeatRef,
    /// The rules that are decided already.
    pub known: DecidedRules,
    /// When the first of them was read.
    pub opened: Instant,
    /// The row of the history store, once it was needed.
    cold: Option<Arc<ColdRows>>,
}

/// An entry that waits for the next group.
#[derive(Debug)]
pub enum Entry {
    Slot(Slot),
    /// A delete, a clear, an erasure or a switch of recording. The sender waits for its answer before it sends another.
    Order {
        inbox: Arc<Inbox>,
        action: Action,
        /// Rows of the history store, once they were needed.
        cold: Option<Arc<ColdRows>>,
    },
}

/// The slots and orders that no group has taken yet.
#[derive(Debug, Default)]
pub struct Slots {
    entries: std::collections::VecDeque<Entry>,
    /// The number of entries taken so far; the number of an entry is its index plus this.
    taken: usize,
    /// The newest slot of each key, by its number.
    open: HashMap<Key, usize>,
    /// The weight of all entries.
    weight: usize,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key(ConnectionId, Content, SessionId);

impl Slot {
    pub fn new(
        inbox: Arc<Inbox>,
        device: Arc<str>,
        beat: Beat,
        beat_ref: BeatRef,
        known: DecidedRules,
        opened: Instant,
    ) -> Self {
        let (earlier, earlier_refs) = (Vec::new(), Vec::new());
        Slot { inbox, device, beat, earlier, earlier_refs, beat_ref, known, opened, cold: None }
    }

    fn key(&self) -> Key {
        Key(self.inbox.id, self.beat.content, self.beat.session)
    }

    /// The number of beats in the slot.
    pub fn beats(&self) -> usize {
        1 + self.earlier_refs.len()
    }

    /// The frame and the index of a beat: `back` 0 is the newest beat, 1 the one before it, and so on.
    pub fn beat_ref(&self, back: usize) -> BeatRef {
        match back {
            0 => self.beat_ref,
            _ => self.earlier_refs[self.earlier_refs.len() - back],
        }
    }

    /// Whether a slot of one beat and of the same key can join. A record names one device.
    pub fn takes(&self, other: &Slot) -> bool {
        let at = other.beat.at;
        let oldest_at = self.earlier.first().map_or(self.beat.at, |oldest| oldest.at);
        let near = self.beat.at.max(at) - oldest_at.min(at) <= SLOT_SPAN_MS_MAX;
        near && self.beats() < SLOT_BEATS_MAX && self.device == other.device
    }

    /// Adds the only beat of another slot.
    pub fn join(&mut self, other: Slot) {
        debug_assert_eq!(other.beats(), 1);
        self.known = self.known.joined(other.known);
        let (mut beat, mut beat_ref) = (other.beat, other.beat_ref);
        if beat.at > self.beat.at {
            std::mem::swap(&mut self.beat, &mut beat);
            std::mem::swap(&mut self.beat_ref, &mut beat_ref);
        }
        let after = self.earlier.partition_point(|earlier| earlier.at <= beat.at);
        self.earlier.insert(after, beat);
        self.earlier_refs.insert(after, beat_ref);
    }
}

impl Entry {
    pub fn inbox(&self) -> &Arc<Inbox> {
        match self {
            Entry::Slot(slot) => &slot.inbox,
            Entry::Order { inbox, .. } => inbox,
        }
    }

    /// The sender of the change.
    pub fn sender(&self) -> Sender {
        let known = match self {
            Entry::Slot(slot) => slot.known,
            Entry::Order { .. } => DecidedRules::default(),
        };
        let inbox = self.inbox();
        Sender { connection: inbox.origin, visitor: inbox.visitor, known }
    }

    /// The number of beats; 1 for an order.
    pub fn weight(&self) -> usize {
        match self {
            Entry::Slot(slot) => slot.beats(),
            Entry::Order { .. } => 1,
        }
    }

    /// The change to commit. To be called once, and again after it was [taken back](Self::take_back). `asks`: the rules that
    /// are open for a beat.
    pub fn change(&mut self, asks: RuleSet) -> Change {
        let action = match self {
            Entry::Slot(slot) => {
                let earlier = std::mem::take(&mut slot.earlier);
                Action::Beat { beat: slot.beat, earlier, device: slot.device.clone(), asks }
            }
            Entry::Order { action, .. } => action.clone(),
        };
        Change { user: self.inbox().user, action }
    }

    /// Takes back the change, which was not decided.
    pub fn take_back(&mut self, change: &mut Change) {
        if let (Entry::Slot(slot), Action::Beat { earlier, .. }) = (self, &mut change.action) {
            slot.earlier = std::mem::take(earlier);
        }
    }

    /// Gives it the rows of the history store that it lacked.
    pub fn warm(&mut self, rows: ColdRows) {
        let (Entry::Slot(Slot { cold, .. }) | Entry::Order { cold, .. }) = self;
        *cold = Some(Arc::new(rows));
    }

    pub fn cold(&self) -> Option<&Arc<ColdRows>> {
        let (Entry::Slot(Slot { cold, .. }) | Entry::Order { cold, .. }) = self;
        cold.as_ref()
    }
}

impl Slots {
    /// Adds a slot. False: its beat has joined another slot.
    pub fn add(&mut self, slot: Slot) -> bool {
        self.weight += slot.beats();
        let next = self.taken + self.entries.len();
        let number = self.open.entry(slot.key()).or_insert(next);
        if let Some(Entry::Slot(open)) = self.entries.get_mut(*number - self.taken)
            && open.takes(&slot)
        {
            open.join(slot);
            return false;
        }
        *number = next;
        self.entries.push_back(Entry::Slot(slot));
        true
    }

    pub fn order(&mut self, inbox: Arc<Inbox>, action: Action) {
        self.weight += 1;
        self.entries.push_back(Entry::Order { inbox, action, cold: None });
    }

    /// Adds an entry that a group has taken before. No beat joins it.
    pub fn add_again(&mut self, entry: Entry) {
        self.weight += entry.weight();
        self.entries.push_back(entry);
    }

    /// Moves the oldest entries, at most `max`, to `group`. No beat joins them any more. Returns their weight.
    pub fn take_into(&mut self, group: &mut Vec<Entry>, max: usize) -> usize {
        let count = self.entries.len().min(max);
        self.taken += count;
        let mut weight = 0;
        group.extend(self.entries.drain(..count).inspect(|entry| weight += entry.weight()));
        self.weight -= weight;
        if self.entries.is_empty() {
            self.open.clear();
        } else {
            self.open.retain(|_, number| *number >= self.taken);
        }
        weight
    }

    /// The number of waiting beats and orders.
    pub fn weight(&self) -> usize {
        self.weight
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
    use crate::devices::inbox::tests::inbox;
    use model::beat::State;
    use model::forgetting::{ContentRow, UserRow};
    use model::ids::UserId;
    use model::moment::Moment;
    use model::recording::Switch;
    use model::rule::{Reason, Verdict, judge};
    use proptest::prelude::*;

    fn beat(oid: u64, session: u64, at: u64) -> Beat {
        let content = Content { kind: 1, oid };
        let session = SessionId(session);
        Beat { content, pos: at, dur: 0, state: State::Playing, session, watched: Some(at), rate: 1.0, at }
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

    fn beats_of(slots: &mut Slots, max: usize) -> Vec<(u64, u64, usize)> {
        let mut group = Vec::new();
        slots.take_into(&mut group, max);
        let beats = group.iter().filter_map(|entry| match entry {
            Entry::Slot(slot) => Some((slot.beat.session.0, slot.beat.at, slot.beats())),
            Entry::Order { .. } => None,
        });
        beats.collect()
    }

    #[test]
    fn a_slot_keeps_the_newest_beat_of_each_session() {
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
    fn beats_beyond_a_full_slot_go_to_the_next() {
        let (one, mut slots) = (inbox(UserId(1)), Slots::default());
        for at in 1..=SLOT_BEATS_MAX as u64 + 2 {
            slots.add(slot(&one, beat(100, 1, at), 1));
        }
        let full = SLOT_BEATS_MAX as u64;
        assert_eq!(slots.weight(), SLOT_BEATS_MAX + 2);
        assert_eq!(beats_of(&mut slots, 1), [(1, full, SLOT_BEATS_MAX)]);
        assert_eq!(slots.weight(), 2);
        assert_eq!(beats_of(&mut slots, 1), [(1, full + 2, 2)]);
    }

    #[test]
    fn devices_do_not_share_slots() {
        let (one, mut slots) = (inbox(UserId(1)), Slots::default());
        slots.add(slot(&one, beat(100, 1, 10), 1));
        assert!(slots.add(Slot { device: Arc::from("renamed"), ..slot(&one, beat(100, 1, 11), 2) }));
    }

    #[test]
    fn a_slot_remembers_the_frame_and_index_of_each_beat() {
        let one = inbox(UserId(1));
        let mut all = slot(&one, beat(100, 1, 30), 1);
        for (at, seq) in [(10, 2), (40, 3), (40, 4), (20, 5), (40, 6)] {
            all.join(slot(&one, beat(100, 1, at), seq));
        }
        let seqs: Vec<u32> = (0..all.beats()).map(|back| all.beat_ref(back).seq).collect();
        assert_eq!(seqs, [3, 6, 4, 1, 5, 2], "the newest first, and of copies the first");
        let Action::Beat { beat, earlier, .. } = Entry::Slot(all).change(RuleSet::NONE).action else { unreachable!() };
        let moments: Vec<u64> = earlier.iter().chain([&beat]).map(|beat| beat.at).collect();
        assert_eq!(moments, [10, 20, 30, 40, 40, 40]);
    }

    #[test]
    fn connections_do_not_share_slots() {
        let mut slots = Slots::default();
        assert!(slots.add(slot(&inbox(UserId(1)), beat(100, 1, 10), 1)));
        assert!(slots.add(slot(&inbox(UserId(1)), beat(100, 1, 20), 1)));
    }

    #[test]
    fn no_beat_joins_a_slot_that_a_group_has_taken() {
        let (one, mut slots) = (inbox(UserId(1)), Slots::default());
        slots.add(slot(&one, beat(100, 1, 10), 1));
        slots.add(slot(&one, beat(200, 1, 10), 1));
        assert_eq!(beats_of(&mut slots, 1), [(1, 10, 1)]);
        assert!(slots.add(slot(&one, beat(100, 1, 11), 2)));
        assert!(!slots.add(slot(&one, beat(200, 1, 12), 2)));
        assert_eq!(beats_of(&mut slots, 9), [(1, 12, 2), (1, 11, 1)]);
    }

    proptest! {
        /// Slots, groups and pauses of recording leave the records that the same beats leave one by one.
        #[test]
        fn coalesced_beats_leave_the_same_records_as_single_beats(
            beats in prop::collection::vec((0u64..3, 1u64..3, 1u64..200_000), 0..60),
            tombstone in 0u64..200_000,
            switches in prop::collection::vec((any::<bool>(), 1u64..200_000), 0..8),
            groups in prop::collection::vec(1usize..9, 0..20),
        ) {
            let mut user = UserRow::default();
            for (paused, at) in switches {
                user.recording.switch(Switch { at, paused }, 0);
            }
            let one = inbox(UserId(1));
            let beats: Vec<Beat> = beats.into_iter().map(|(oid, session, at)| beat(oid, session, at)).collect();
            let mut rows: HashMap<Content, ContentRow> = HashMap::new();
            for oid in 0..3 {
                rows.entry(Content { kind: 1, oid }).or_default().delete(tombstone);
            }
            let keep = |rows: &mut HashMap<Content, ContentRow>, beat: &Beat| {
                judge(&user, rows.entry(beat.content).or_default(), beat, &Arc::from(""), &Moment::default()).0
            };
            let mut expected = rows.clone();
            beats.iter().for_each(|beat| drop(keep(&mut expected, beat)));

            let (mut slots, mut group, mut sizes) = (Slots::default(), Vec::new(), groups.into_iter());
            for each in &beats {
                slots.add(slot(&one, *each, 1));
                if each.at % 3 == 0 {
                    slots.take_into(&mut group, sizes.next().unwrap_or(1));
                }
            }
            slots.take_into(&mut group, usize::MAX);
            prop_assert_eq!(group.iter().map(Entry::weight).sum::<usize>(), beats.len());
            for entry in &mut group {
                let Action::Beat { beat, earlier, .. } = entry.change(RuleSet::NONE).action else { unreachable!() };
                let paused = |verdict: &Verdict| matches!(verdict, Verdict::Rejected { reason: Reason::NotRecording, .. });
                let mut newest_first = [beat].into_iter().chain(earlier.into_iter().rev());
                newest_first.find(|beat| !paused(&keep(&mut rows, beat)));
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
