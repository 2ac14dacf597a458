//! The promises of [`OwnerQueues`](heartline::storage::owner_queues::OwnerQueues) about queues that are filled anew.

use heartline::storage::event_bus::part::{Offsets, Part};
use heartline::storage::event_bus::source::LogMark;
use heartline::storage::owner_queues::{Appended, Bounds, Change, Ended, Fill, Filled};

use crate::backends::owner_queues::{Queue, QueuesBackend, ROOMY, all_done, offsets, part};
use crate::backends::requests::wait;

pub fn a_replay_brings_everything_once_and_in_its_order<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append(1..=4);
    let before = queue.take().unwrap();
    queue.change(Change::Replay { after: offsets(&[("log", 1)]) });
    assert!(queue.owner().replaying && queue.owner().depth == 0);
    assert_eq!(queue.done(&before, all_done(&before)), Ended::Fenced, "the queue is another one");
    // What happens meanwhile comes with the replay.
    assert_eq!(queue.append([5, 6]), Appended { left_out: 2, ..Appended::default() });
    let [replay] = wait(queue.all.replays()).unwrap().try_into().unwrap();
    assert_eq!((replay.at.clone(), replay.owner.clone()), (offsets(&[("log", 1)]), queue.id.clone()));
    let fill = |at, to, events: std::ops::RangeInclusive<u64>, is_end| {
        let events = events.map(|offset| (offset, format!("{{\"n\":{offset}}}").into())).collect();
        let owner = queue.id.clone();
        let fill =
            Fill { owner, version: replay.version, part: part(), at, to, events, is_end, parts: [part()].into() };
        wait(queue.all.fill(fill)).unwrap()
    };
    assert_eq!(fill(1, 4, 2..=4, true), Filled::More, "5 and 6 are missing");
    assert_eq!(fill(1, 4, 2..=4, true), Filled::Moved, "it was done");
    assert_eq!(fill(4, 6, 5..=6, true), Filled::Over);
    assert!(!queue.owner().replaying && wait(queue.all.replays()).unwrap().is_empty());
    assert_eq!(queue.append([6, 7]), Appended { queued: 1, old: 1, ..Appended::default() });
    assert_eq!(queue.drained(), [2, 3, 4, 5, 6, 7]);
}

pub fn a_replay_is_over_when_each_part_was_read_to_its_end<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.change(Change::Replay { after: Offsets::new() });
    let version = queue.version();
    let fill = |part: &str, version, is_end| {
        let (owner, part) = (queue.id.clone(), Part::new(part));
        let fill = Fill {
            owner,
            version,
            part,
            at: 0,
            to: 0,
            events: Vec::new(),
            is_end,
            parts: ["one", "two"].map(Part::new).into(),
        };
        wait(queue.all.fill(fill)).unwrap()
    };
    assert_eq!(fill("one", version, true), Filled::More);
    assert_eq!(fill("two", version, false), Filled::More);
    assert_eq!(fill("two", version - 1, true), Filled::Moved, "it was asked for again");
    assert_eq!(fill("two", version, true), Filled::Over);
}

pub fn a_replay_sends_nothing_to_the_dead_letters<B: QueuesBackend>() {
    for bounds in [Bounds { events: 3, ..ROOMY }, Bounds { bytes: 3 * 7, ..ROOMY }] {
        let backend = B::empty(bounds);
        let queue = Queue::made(&backend, "a");
        queue.change(Change::Replay { after: Offsets::new() });
        let fill = |at, events: std::ops::RangeInclusive<u64>| {
            let (owner, version, to) = (queue.id.clone(), queue.version(), *events.end());
            let events = events.map(|offset| (offset, format!("{{\"n\":{offset}}}").into())).collect();
            let fill = Fill { owner, version, part: part(), at, to, events, is_end: true, parts: [part()].into() };
            wait(queue.all.fill(fill)).unwrap()
        };
        let replay = || wait(queue.all.replays()).unwrap().pop().unwrap();
        assert_eq!(fill(0, 1..=2), Filled::Over);
        queue.change(Change::Replay { after: Offsets::new() });
        assert_eq!(fill(0, 1..=5), Filled::Full);
        assert_eq!((replay().at, replay().room.min(replay().room_bytes)), (offsets(&[("log", 3)]), 0));
        assert_eq!(fill(3, 4..=5), Filled::Full, "there is no room at all");
        assert_eq!((replay().at, queue.owner().depth, queue.owner().dead), (offsets(&[("log", 3)]), 3, 0));
        assert_eq!(queue.drained(), [1, 2, 3]);
        assert_eq!(fill(3, 4..=5), Filled::Over);
        assert_eq!((queue.drained(), queue.owner().dead), (vec![4, 5], 0));
    }
}

pub fn an_empty_queue_takes_one_event_of_any_length_from_the_log<B: QueuesBackend>() {
    let backend = B::empty(Bounds { bytes: 3, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    queue.change(Change::Replay { after: Offsets::new() });
    for at in 0..2 {
        let events = (at + 1..=2).map(|offset| (offset, format!("{{\"n\":{offset}}}").into())).collect();
        let (owner, version, part) = (queue.id.clone(), queue.version(), part());
        let parts = [part.clone()].into();
        let fill = Fill { owner, version, part, at, to: 2, events, is_end: true, parts };
        let expected = if at == 0 { Filled::Full } else { Filled::Over };
        assert_eq!(wait(queue.all.fill(fill)).unwrap(), expected);
        assert_eq!(queue.drained(), [at + 1]);
    }
    assert_eq!(queue.owner().dead, 0);
}

pub fn one_message_of_each_part_is_remembered<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let mark = |offset| LogMark { offset, hash: u64::MAX - offset };
    let all = backend.queues();
    assert_eq!(wait(all.mark(part())).unwrap(), None);
    for offset in [9, 5] {
        wait(all.keep_mark(part(), mark(offset))).unwrap();
        assert_eq!(wait(all.mark(part())).unwrap(), Some(mark(offset)), "the last one, whatever its offset");
    }
    drop(all);
    let backend = backend.reopened();
    assert_eq!(wait(backend.queues().mark(part())).unwrap(), Some(mark(5)));
    assert_eq!(wait(backend.queues().mark(Part::new("other"))).unwrap(), None);
    assert_eq!(wait(backend.queues().cursor(part())).unwrap(), 0);
}

pub fn the_last_look_at_the_bus_is_kept<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let all = backend.queues();
    assert_eq!(wait(all.looked_at()).unwrap(), None);
    for at in [1_795_132_800_000, 1_795_132_799_000] {
        wait(all.keep_look(at)).unwrap();
        assert_eq!(wait(all.looked_at()).unwrap(), Some(at), "the last one, whatever its time");
    }
}
