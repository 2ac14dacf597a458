use std::time::Duration;

use futures_util::FutureExt;

use super::*;
use crate::devices::ready_list::Notifier;
use crate::devices::user_counts::UserCounts;
use crate::rewards::decisions::Decisions;
use model::beat::State;
use model::cold::{ColdMark, ColdRows};
use model::ids::{Content, SessionId, UserId};
use model::mid_hash::MidHash;
use model::rewards::rule::RuleSet;
use model::rule::{Reason, Verdict};
use model::version::Version;
use model::visitor::Visitor;

const USER: UserId = UserId(42);
const HOLD: Duration = Duration::from_secs(15);

/// A queue with one user; the test is the committer.
struct Bench {
    queue: Arc<SubmitQueue>,
    holds: Arc<HoldIndex>,
    counts: Arc<UserCounts>,
    wake: Arc<Notify>,
    now: Instant,
}

impl Bench {
    fn new(weight_max: usize) -> Self {
        let (wake, holds) = (Arc::new(Notify::new()), HoldIndex::new());
        let trace = UserTrace::new(MidHash::with_key(&[0; 16]));
        let (queue, _) = SubmitQueue::new(wake.clone(), weight_max, Some(holds.clone()), None, trace);
        Bench { queue, holds, counts: Arc::default(), wake, now: Instant::now() }
    }

    /// The moments of the entries that may be taken at this time; 0 for an order.
    fn take(&self, after: Duration) -> Vec<u64> {
        moments(&self.take_entries(after))
    }

    fn take_entries(&self, after: Duration) -> Vec<Entry> {
        let mut group = Vec::new();
        self.queue.take_into(&mut group, usize::MAX, self.now + after);
        group
    }

    fn inbox(&self) -> Arc<Inbox> {
        Inbox::of_request(USER, None, Visitor::default(), self.counts.clone(), Notifier::Own(Arc::default()))
    }

    /// A connection whose record plays.
    fn playing(&self) -> Arc<Inbox> {
        let inbox = self.inbox();
        play(&self.queue, &inbox, 1);
        inbox
    }

    fn hold(&self, inbox: &Arc<Inbox>, at: u64) -> bool {
        submit(&self.queue, inbox, beat(at), Some(self.now + HOLD)).held
    }

    fn is_woken(&self) -> bool {
        self.wake.notified().now_or_never().is_some()
    }
}

pub fn beat(at: u64) -> Beat {
    let (content, session) = (Content { kind: 1, oid: 100 }, SessionId(1));
    Beat { content, pos: at, dur: 0, state: State::Playing, session, watched: Some(at), rate: 1.0, at }
}

/// A frame of one beat.
pub fn submit(queue: &Arc<SubmitQueue>, inbox: &Arc<Inbox>, beat: Beat, hold_until: Option<Instant>) -> Submitted {
    let (device, decisions) = (Arc::from(""), Decisions::default());
    let (seq, read, flag) = (beat.at as u32, Instant::now(), None);
    let source = Source { inbox, device: &device, seq, read, flag, decisions: &decisions, misnamed: &[], hold_until };
    queue.submit(&source, [(0, beat)])
}

/// Makes the connection's record play: stores a beat that might have been held.
pub fn play(queue: &Arc<SubmitQueue>, inbox: &Arc<Inbox>, at: u64) {
    let now = Instant::now();
    submit(queue, inbox, beat(at), Some(now));
    let mut group = Vec::new();
    queue.take_into(&mut group, usize::MAX, now);
    answer(queue, group, written(true));
}

fn answer(queue: &Arc<SubmitQueue>, group: Vec<Entry>, outcome: Outcome) {
    answer_beside(queue, &mut Deferred::default(), group, outcome);
}

fn answer_beside(queue: &Arc<SubmitQueue>, deferred: &mut Deferred, group: Vec<Entry>, outcome: Outcome) {
    let completion = |entry| Completion { entry, outcome: outcome.clone(), news: None };
    queue.deliver(group.into_iter().map(completion).collect(), deferred);
}

fn moments(group: &[Entry]) -> Vec<u64> {
    let moment = |entry: &Entry| match entry {
        Entry::Slot(slot) => slot.beat.at,
        Entry::Order { .. } => 0,
    };
    group.iter().map(moment).collect()
}

fn written(steady: bool) -> Outcome {
    Outcome::from(Verdict::written(steady))
}

#[test]
fn a_held_slot_is_taken_when_its_time_is_over_and_not_before() {
    let bench = Bench::new(9);
    let inbox = bench.playing();
    bench.is_woken();
    assert!(bench.hold(&inbox, 2));
    assert!(bench.is_woken(), "the committer has to know when");
    assert!(bench.hold(&inbox, 3), "it joins");
    let other = bench.playing();
    bench.is_woken();
    assert!(submit(&bench.queue, &other, beat(4), Some(bench.now + 2 * HOLD)).held);
    assert!(!bench.is_woken(), "it looks for the first by then");
    assert_eq!(bench.take(HOLD - Duration::from_millis(1)), [0; 0]);
    let mut group = Vec::new();
    let next = bench.queue.take_into(&mut group, usize::MAX, bench.now + HOLD);
    assert_eq!((moments(&group), group[0].weight()), (vec![3], 2));
    assert_eq!(next, Some(bench.now + 2 * HOLD));
}

#[test]
fn a_later_entry_of_the_connection_releases_its_hold_and_comes_after_it() {
    let paused = Beat { state: State::Paused, ..beat(9) };
    let other = Beat { content: Content { kind: 1, oid: 200 }, ..beat(9) };
    for (later, expected) in [(paused, vec![9]), (other, vec![2, 9])] {
        let bench = Bench::new(9);
        let inbox = bench.playing();
        assert!(bench.hold(&inbox, 2));
        assert!(!submit(&bench.queue, &inbox, later, Some(bench.now + HOLD)).held);
        assert_eq!(bench.take(Duration::ZERO), expected, "a beat of its session joins it");
    }
    let bench = Bench::new(9);
    let inbox = bench.playing();
    assert!(bench.hold(&inbox, 2));
    bench.queue.order(&inbox, Action::Erase { at: 1 });
    assert_eq!(bench.take(Duration::ZERO), [2, 0]);
}

#[test]
fn an_entry_of_another_connection_does_not_release_a_hold() {
    let bench = Bench::new(9);
    let (one, other) = (bench.playing(), bench.playing());
    assert!(bench.hold(&one, 2));
    bench.queue.order(&other, Action::Erase { at: 1 });
    assert_eq!(bench.take(Duration::ZERO), [0]);
}

#[test]
fn a_read_releases_what_all_connections_of_the_user_hold_and_waits_for_the_answers() {
    let bench = Bench::new(9);
    let (one, two, reader) = (bench.playing(), bench.playing(), UserId(7));
    assert!(bench.hold(&one, 2) && bench.hold(&two, 3));
    bench.is_woken();
    assert_eq!(bench.holds.commit(reader).len(), 0, "another user");
    let mut answers = bench.holds.commit(USER);
    assert!(bench.is_woken());
    assert_eq!(answers.len(), 2);
    let group = bench.take_entries(Duration::ZERO);
    let mut taken = moments(&group);
    taken.sort_unstable();
    assert_eq!(taken, [2, 3]);
    assert_eq!(bench.holds.commit(USER).len(), 2, "a read waits for a group, too");
    assert!(answers.iter_mut().all(|answer| answer.now_or_never().is_none()));
    answer(&bench.queue, group, written(true));
    assert!(answers.iter_mut().all(|answer| answer.now_or_never().is_some()));
    assert_eq!(bench.holds.commit(USER).len(), 0);
    assert!(bench.hold(&one, 4), "the next beat may be held again");
}

#[test]
fn a_drain_and_the_end_of_a_connection_release_a_hold() {
    let ends: [fn(&SubmitQueue, ConnectionId); 2] = [SubmitQueue::release, SubmitQueue::leave];
    for end in ends {
        let bench = Bench::new(9);
        let inbox = bench.playing();
        assert!(bench.hold(&inbox, 2));
        end(&bench.queue, inbox.id);
        let group = bench.take_entries(Duration::ZERO);
        assert_eq!(moments(&group), [2]);
        end(&bench.queue, inbox.id);
        answer(&bench.queue, group, written(true));
    }
}

#[test]
fn the_queue_keeps_no_state_of_an_ended_connection() {
    for leaves_first in [false, true] {
        let bench = Bench::new(9);
        let inbox = bench.playing();
        assert!(bench.hold(&inbox, 2));
        bench.queue.release(inbox.id);
        let group = bench.take_entries(Duration::ZERO);
        if leaves_first {
            bench.queue.leave(inbox.id);
        }
        answer(&bench.queue, group, written(true));
        bench.queue.leave(inbox.id);
        assert!(!bench.queue.lock().knows_senders());
    }
}

#[test]
fn held_beats_take_no_room_from_other_frames_and_are_bounded() {
    let bench = Bench::new(3);
    let (one, two) = (bench.playing(), bench.playing());
    assert!(bench.hold(&one, 2) && bench.hold(&one, 3) && bench.hold(&one, 4));
    assert!(bench.queue.has_room() && bench.queue.is_empty());
    assert!(!bench.hold(&two, 5), "so many beats are held");
    assert_eq!(bench.take(Duration::ZERO), [5]);
    bench.queue.release(one.id);
    assert!(!bench.queue.has_room(), "now they wait for a group");
}

#[test]
fn a_beat_is_held_only_if_it_continues_the_stored_record() {
    let bench = Bench::new(9);
    let inbox = bench.playing();
    assert!(!submit(&bench.queue, &inbox, beat(2), None).held, "it may not");
    assert!(!bench.hold(&inbox, 3), "the beat before it is not stored");
    answer(&bench.queue, bench.take_entries(Duration::ZERO), written(true));
    assert!(!bench.hold(&inbox, 4), "the beat before it might not have been held");
    let rejected = Verdict::Rejected { reason: Reason::Superseded, record: None };
    answer(&bench.queue, bench.take_entries(Duration::ZERO), rejected.into());
    assert!(!bench.hold(&inbox, 5), "the beat before it was rejected");
    answer(&bench.queue, bench.take_entries(Duration::ZERO), written(true));
    assert!(bench.hold(&inbox, 6));
}

#[test]
fn a_change_by_another_connection_releases_a_hold_and_prevents_the_next() {
    let bench = Bench::new(9);
    let (holds, plays, request) = (bench.playing(), bench.playing(), bench.inbox());
    for (outcome, released) in
        [(false, vec![]), (true, vec![2])].map(|(moved, released)| (Outcome::Cleared { moved, at: 1 }, released))
    {
        bench.hold(&holds, 2);
        bench.queue.order(&request, Action::Clear { at: 1 });
        let group = bench.take_entries(Duration::ZERO);
        assert_eq!(moments(&group), [0], "it is released by the answer");
        answer(&bench.queue, group, outcome);
        assert_eq!(bench.take(Duration::ZERO), released);
    }
    assert!(!bench.hold(&plays, 3));
}

#[test]
fn a_beat_of_the_connection_prevents_no_hold_and_its_order_does() {
    let bench = Bench::new(9);
    let (one, other) = (bench.playing(), bench.playing());
    submit(&bench.queue, &one, Beat { session: SessionId(2), ..beat(2) }, Some(bench.now));
    answer(&bench.queue, bench.take_entries(Duration::ZERO), written(false));
    assert!(!bench.hold(&other, 3));
    let next = Beat { session: SessionId(2), ..beat(4) };
    assert!(submit(&bench.queue, &one, next, Some(bench.now + HOLD)).held);
    bench.queue.order(&one, Action::Clear { at: 1 });
    answer(&bench.queue, bench.take_entries(Duration::ZERO), Outcome::Cleared { moved: true, at: 1 });
    assert!(!submit(&bench.queue, &one, next, Some(bench.now + HOLD)).held, "but not what an order does to its record");
}

#[test]
fn beats_behind_one_that_waits_for_the_history_store_are_answered_after_it() {
    let bench = Bench::new(9);
    let (late, other) = (bench.inbox(), bench.inbox());
    let mut deferred = Deferred::default();
    let slots = |inbox: &Arc<Inbox>| inbox.take(bench.now).slots;
    let beat_of = |at, oid| Beat { content: Content { kind: 1, oid }, ..beat(at) };
    for (inbox, at) in [(&late, 1), (&late, 2), (&other, 3)] {
        submit(&bench.queue, inbox, beat_of(at, at), None);
    }
    let mut taken = bench.take_entries(Duration::ZERO).into_iter();
    let mut pass = |entry, outcome| deferred.pass(Completion { entry, outcome, news: None });
    let deliver = |passed| match passed {
        Passed::Answered(answered) => answered.into_iter().for_each(Completion::deliver),
        Passed::Kept => {}
        Passed::Cold(..) | Passed::TooMany(_) => panic!("it is decided"),
    };
    let mark = ColdMark { floor: 9, trimmed: Version(1) };
    let cold = || Outcome::Cold(Box::new(ColdContents { mark, contents: Vec::new() }));
    let Passed::Cold(first, _) = pass(taken.next().expect("three"), cold()) else { panic!("it waits") };
    deliver(pass(taken.next().expect("three"), written(false)));
    deliver(pass(taken.next().expect("three"), written(false)));
    assert_eq!((slots(&late), slots(&other)), (0, 1), "another connection goes on");
    let Passed::Cold(again, _) = pass(first, cold()) else { panic!("more rows have left meanwhile") };
    assert_eq!(slots(&late), 0);
    deliver(pass(again, written(false)));
    assert_eq!(slots(&late), 2, "in their order");
    assert!(deferred.is_idle(&[]));
}

#[test]
fn an_entry_that_was_not_decided_keeps_all_its_beats() {
    let bench = Bench::new(9);
    let inbox = bench.inbox();
    for at in [1, 2] {
        submit(&bench.queue, &inbox, beat(at), None);
    }
    let mut entry = bench.take_entries(Duration::ZERO).remove(0);
    let mut change = entry.change(RuleSet::NONE);
    entry.take_back(&mut change);
    let rows = ColdRows { mark: ColdMark { floor: 9, trimmed: Version(1) }, rows: Vec::new() };
    entry.warm(rows.clone());
    bench.queue.change(|waiting| waiting.slots.add_again(entry));
    submit(&bench.queue, &inbox, beat(3), None);
    let mut entries = bench.take_entries(Duration::ZERO).into_iter();
    let mut first = entries.next().expect("two");
    let Action::Beat { beat, earlier, .. } = first.change(RuleSet::NONE).action else { panic!("a beat") };
    assert_eq!((beat.at, earlier.len()), (2, 1), "no beat has joined it");
    assert_eq!(first.cold().map(|rows| &**rows), Some(&rows));
    assert_eq!(entries.count(), 1);
}
