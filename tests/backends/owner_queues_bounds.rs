//! The promises of [`OwnerQueues`](heartline::storage::owner_queues::OwnerQueues) about what a queue holds.

use std::thread;
use std::time::Duration;

use heartline::model::subscribers::{State, Status};
use heartline::storage::owner_queues::{Append, Appended, Bounds, Change, DeadReason, Done, Ended};

use crate::backends::owner_queues::{Queue, QueuesBackend, ROOMY, all_done, id, offset_of, part, told};
use crate::backends::requests::wait;

pub fn what_is_too_much_goes_to_the_dead_letters<B: QueuesBackend>() {
    let backend = B::empty(Bounds { events: 5, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    assert_eq!(queue.append(1..=8), Appended { queued: 8, died: 3, ..Appended::default() });
    let dead = queue.dead(0, 100);
    let letters: Vec<_> = dead.iter().map(|letter| (offset_of(&letter.event), letter.reason)).collect();
    assert_eq!(letters, [1, 2, 3].map(|offset| (offset, DeadReason::QueueFull)));
    assert_eq!((queue.owner().depth, queue.owner().dead), (5, 3));
    let (first, after) = (queue.dead(0, 1), queue.dead(dead[0].number, 100));
    assert_eq!((first, after), (dead[..1].to_vec(), dead[1..].to_vec()), "they are read in pages");
    assert_eq!(queue.drained(), [4, 5, 6, 7, 8]);
    assert_eq!(wait(queue.all.resend(queue.id.clone())).unwrap(), Some(3));
    assert_eq!((queue.drained(), queue.owner().dead), (vec![1, 2, 3], 0));
    assert_eq!(wait(queue.all.resend(id("none"))).unwrap(), None);
    assert_eq!(wait(queue.all.dead(id("none"), 0, 1)).unwrap(), None);
}

pub fn a_queue_has_a_bound_of_bytes<B: QueuesBackend>() {
    // Each event has seven bytes.
    let backend = B::empty(Bounds { bytes: 30, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    assert_eq!(queue.append(1..=6).died, 2);
    assert_eq!(queue.drained(), [3, 4, 5, 6]);
    let long = "x".repeat(50);
    let event = format!("{{\"n\":7,\"long\":\"{long}\"}}").into();
    let append = Append { owner: queue.id.clone(), incarnation: queue.owner().incarnation, offset: 7, event };
    assert_eq!(wait(queue.all.append(part(), vec![append])).unwrap().died, 0);
    assert_eq!(queue.take_soon().entries.len(), 1, "a single one is kept, however long it is");
}

pub fn dead_letters_are_bounded<B: QueuesBackend>() {
    let backend = B::empty(Bounds { events: 4, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    queue.append(1..=20);
    let letters: Vec<_> = queue.dead(0, 100).iter().map(|letter| offset_of(&letter.event)).collect();
    assert_eq!((letters, queue.owner().dead), (vec![13, 14, 15, 16], 4));
    assert_eq!(wait(queue.all.totals()).unwrap().dropped, 12);
}

pub fn a_disabled_owner_gets_no_dead_letters_back<B: QueuesBackend>() {
    let backend = B::empty(Bounds { events: 2, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    queue.append(1..=3);
    let taken = queue.take().unwrap();
    let status = Status { state: State::Disabled, ..Status::default() };
    assert_eq!(queue.done(&taken, Done { status, ..all_done(&taken) }), Ended::Done);
    let resend = || wait(queue.all.resend(queue.id.clone())).unwrap();
    assert_eq!((resend(), queue.owner().depth, queue.owner().dead), (Some(0), 0, 1));
    queue.change(Change::Resume);
    assert_eq!((resend(), queue.drained()), (Some(1), vec![1]));
}

pub fn what_is_too_old_is_not_delivered<B: QueuesBackend>() {
    let backend = B::empty(Bounds { age: Duration::from_secs(2), ..ROOMY });
    let [taken, swept] = ["a", "b"].map(|name| Queue::made(&backend, name));
    swept.append([1]);
    swept.change(Change::Pause);
    taken.append([1]);
    thread::sleep(Duration::from_millis(2_100));
    taken.append([2]);
    assert_eq!(told(&taken.take_soon()), [2]);
    let expired = wait(backend.queues().expire()).unwrap();
    assert!((1..=2).contains(&expired), "{expired}");
    for queue in [&taken, &swept] {
        let dead = queue.dead(0, 10);
        assert_eq!(dead.iter().map(|letter| letter.reason).collect::<Vec<_>>(), [DeadReason::TooOld], "{}", queue.id);
    }
    assert_eq!(swept.owner().depth, 0);
}
