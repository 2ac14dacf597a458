//! The states of owners, counted.

use std::time::Duration;

use heartline::model::subscribers::{Failing, PauseReason, State, Status};
use heartline::storage::owner_queues::{Change, Ended, Taken};

use crate::backends::owner_queues::{Queue, QueuesBackend, ROOMY, nothing_done, put, state};
use crate::backends::requests::wait;

pub fn totals_tell_the_states_of_owners<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let states = |backend: &B| {
        let totals = wait(backend.queues().totals()).unwrap();
        let stopped = [totals.paused, totals.tries_used_up, totals.disabled];
        (totals.active(), totals.failing, stopped, totals.failing_since)
    };
    let queues = ["a", "b", "c", "d"].map(|name| Queue::made(&backend, name));
    queues.iter().for_each(|queue| assert_eq!(queue.append(1..=3).queued, 3));
    assert_eq!(states(&backend), (4, 0, [0; 3], None));
    let since = |since| Status { failing: Some(Failing { since, tries: 1 }), ..Status::default() };
    let taken: Vec<Taken> = queues.iter().map(Queue::take_soon).collect();
    for taken in taken {
        let (status, queue) = match taken.owner.as_str() {
            "a" => (since(7), &queues[0]),
            "b" => (since(5), &queues[1]),
            "c" => (state(State::Disabled), &queues[2]),
            _ => (state(State::Paused(PauseReason::TriesUsedUp)), &queues[3]),
        };
        assert_eq!(queue.done(&taken, nothing_done(status, Duration::ZERO)), Ended::Done);
    }
    assert_eq!(states(&backend), (0, 2, [0, 1, 1], Some(5)));
    drop(queues);
    let backend = backend.reopened();
    assert_eq!(states(&backend), (0, 2, [0, 1, 1], Some(5)));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| Queue::of(&backend, name));
    b.change(Change::Pause);
    c.change(put(&[]));
    d.change(Change::Resume);
    assert_eq!(states(&backend), (2, 1, [1, 0, 0], Some(7)));
    a.change(Change::Delete);
    b.change(Change::Delete);
    assert_eq!(states(&backend), (2, 0, [0; 3], None));
}
