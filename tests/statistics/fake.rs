//! The faults of the store in memory, which other tests rest on.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use heartline::storage::statistics::{Statistics, Written};

use crate::statistics::statistics::{FakeStatistics, Fault};
use crate::statistics::words::*;

#[test]
fn what_is_away_does_nothing() {
    let store = FakeStatistics::default();
    store.fail(Fault::Away);
    wait(store.write(flight(1, &[views(1, 1)]))).unwrap_err();
    wait(store.totals(ALL, vec![content(1)])).unwrap_err();
    store.recover();
    assert_eq!((store.total(content(1)), store.asked().len()), (0, 1));
}

#[test]
fn an_answer_may_be_lost_or_half_be_done() {
    let store = FakeStatistics::default();
    let flight = flight(1, &[views(1, 1), views(2, 1), views_on(1, "2026-11-22", 1)]);
    store.fail(Fault::Half);
    wait(store.write(flight.clone())).unwrap_err();
    assert_eq!((store.total(content(1)), store.total(content(2))), (1, 1));
    store.recover();
    assert_eq!(days(&store, 1), []);
    store.fail(Fault::LostAnswers);
    wait(store.write(flight.clone())).unwrap_err();
    store.recover();
    assert_eq!(wait(store.write(flight)), Ok(Written { documents: 3, repeats: 3 }));
    assert_eq!((totals(&store, &[1, 2]), days(&store, 1)), (vec![1, 1], told(&[("2026-11-22", 1)])));
}

#[test]
fn what_is_frozen_answers_when_it_goes_on() {
    let store = FakeStatistics::default();
    store.fail(Fault::Frozen);
    let mut frozen = store.write(flight(1, &[views(1, 1)]));
    let mut context = Context::from_waker(Waker::noop());
    assert!(frozen.as_mut().poll(&mut context).is_pending());
    assert_eq!(store.total(content(1)), 0);
    store.recover();
    assert_eq!(frozen.as_mut().poll(&mut context), Poll::Ready(Ok(Written { documents: 1, repeats: 0 })));
    assert_eq!(store.total(content(1)), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_slow_acts_when_the_time_has_passed() {
    let store = FakeStatistics::default();
    store.fail(Fault::Delayed(Duration::from_secs(3)));
    let begun = tokio::time::Instant::now();
    store.write(flight(1, &[views(1, 1)])).await.unwrap();
    assert_eq!((begun.elapsed(), store.total(content(1))), (Duration::from_secs(3), 1));
}
