//! The promises of [`OwnerQueues`](heartline::storage::owner_queues::OwnerQueues) about queues that are filled anew.

use heartline::storage::event_bus::part::{Offsets, Part};
use heartline::storage::owner_queues::{Appended, Change, Ended, Fill, Filled};

use crate::owner_queues::{Queue, QueuesBackend, ROOMY, all_done, offsets, part};
use crate::requests::wait;

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
        let fill = Fill { owner, version: replay.version, part: part(), at, to, events, is_end, parts: 1 };
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
        let fill = Fill { owner, version, part, at: 0, to: 0, events: Vec::new(), is_end, parts: 2 };
        wait(queue.all.fill(fill)).unwrap()
    };
    assert_eq!(fill("one", version, true), Filled::More);
    assert_eq!(fill("two", version, false), Filled::More);
    assert_eq!(fill("two", version - 1, true), Filled::Moved, "it was asked for again");
    assert_eq!(fill("two", version, true), Filled::Over);
}
