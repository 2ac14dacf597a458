use std::sync::atomic::Ordering;

use super::fixture::{Fixture, MOMENT, MemoryBus, MemoryOutbox, Mood};
use super::*;
use crate::outbox::bus_watch::ANSWER_MAX;
use crate::outbox::waiting_events::RETRY_MAX;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn the_outbox_is_published_in_order_and_in_large_batches() {
    let fixture = Fixture::start(10_000, Mood::Takes);
    assert!(fixture.drained().await <= MOMENT, "a full batch is followed by the next");
    assert_eq!(fixture.bus.users(), (1..=10_000).collect::<Vec<_>>());
    assert_eq!(fixture.bus.calls.load(Ordering::Relaxed), 10_000_usize.div_ceil(BATCH_MAX));
}

#[tokio::test(start_paused = true)]
async fn new_entries_are_published_soon_when_notified_and_by_polling_otherwise() {
    let fixture = Fixture::start(1, Mood::Takes);
    fixture.drained().await;
    fixture.outbox.add(1);
    fixture.notify.notify(false);
    let behind_another = fixture.drained().await;
    assert!(behind_another > PACE / 2 && behind_another <= PACE + MOMENT, "{behind_another:?}");
    sleep(PACE).await;
    fixture.outbox.add(1);
    fixture.notify.notify(false);
    assert!(fixture.drained().await <= MOMENT, "nothing was published of late");
    fixture.outbox.add(1);
    fixture.notify.notify(true);
    assert!(fixture.drained().await <= MOMENT, "the outbox fills up");
    fixture.outbox.add(1);
    let unasked = fixture.drained().await;
    assert!(unasked > PACE && unasked <= LOOK_EVERY + MOMENT, "{unasked:?}");
    assert_eq!(fixture.bus.users(), [1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn refused_events_stay_and_are_published_soon_after_the_bus_is_back() {
    let fixture = Fixture::start(3, Mood::Refuses);
    sleep(HOUR).await;
    assert_eq!((fixture.outbox.len(), fixture.health.degraded().len()), (3, 1));
    fixture.bus.is_in(Mood::Takes);
    assert!(fixture.drained().await <= RETRY_MAX + MOMENT);
    assert_eq!((fixture.bus.users(), fixture.health.degraded().len()), (vec![1, 2, 3], 0));
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_does_not_answer_is_away_and_is_waited_for() {
    let fixture = Fixture::start(3, Mood::Waits);
    sleep(ANSWER_MAX - Duration::from_millis(1)).await;
    assert!(fixture.health.degraded().is_empty());
    sleep(Duration::from_secs(60)).await;
    assert_eq!((fixture.outbox.len(), fixture.health.degraded().len()), (3, 1));
    fixture.bus.is_in(Mood::Takes);
    assert!(fixture.drained().await <= MOMENT);
    assert_eq!((fixture.bus.calls.load(Ordering::Relaxed), fixture.health.degraded().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_waits_holds_back_only_the_later_ones_of_its_user() {
    let fixture = Fixture::start(0, Mood::WaitsFor(|user| user == 2));
    fixture.outbox.add_of([1, 2, 3, 2, 1]);
    sleep(LOOK_EVERY).await;
    fixture.outbox.add_of([2, 4]);
    sleep(HOUR).await;
    assert_eq!(fixture.bus.users(), [1, 3, 1, 4]);
    assert_eq!(fixture.outbox.users(), [2, 2, 2], "an entry is removed when its own event is published");
    assert_eq!(fixture.bus.handed(2), 1, "the bus still has it");
    assert_eq!(fixture.health.degraded(), ["some events wait for the event bus; others are published"]);
    fixture.bus.is_in(Mood::Takes);
    assert!(fixture.drained().await <= MOMENT);
    assert_eq!(fixture.bus.published()[4..], [(2, 2), (2, 4), (2, 6)]);
    assert_eq!((fixture.bus.handed(1), fixture.health.degraded().len()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_given_up_event_is_sent_again_alone_and_before_later_ones_of_its_user() {
    let fixture = Fixture::start(0, Mood::WaitsFor(|user| user <= 2));
    fixture.outbox.add_of([1, 2, 3, 1, 2]);
    for _ in 0..10 {
        sleep(Duration::from_secs(30)).await;
        fixture.bus.give_up(1);
    }
    sleep(RETRY_MAX + MOMENT).await;
    assert_eq!([1, 2, 3].map(|user| fixture.bus.handed(user)), [11, 1, 1]);
    fixture.bus.is_in(Mood::Takes);
    fixture.drained().await;
    assert_eq!(fixture.bus.published(), [(3, 3), (2, 2), (1, 1), (1, 4), (2, 5)]);
}

#[tokio::test(start_paused = true)]
async fn a_bus_has_one_event_of_a_user_at_a_time_unless_its_calls_are_atomic() {
    for atomic in [false, true] {
        let (outbox, bus) = (MemoryOutbox::with(0), MemoryBus::new());
        bus.atomic.store(atomic, Ordering::Relaxed);
        bus.is_in(Mood::Waits);
        outbox.add_of([7, 8, 7, 7]);
        let fixture = Fixture::between(outbox, bus);
        sleep(MOMENT).await;
        fixture.outbox.add_of([7]);
        sleep(HOUR).await;
        assert_eq!(fixture.bus.handed(7), if atomic { 3 } else { 1 });
        fixture.bus.give_up(7);
        sleep(HOUR).await;
        assert_eq!(fixture.bus.handed(7), if atomic { 3 + 4 } else { 2 });
        fixture.bus.is_in(Mood::Takes);
        fixture.drained().await;
        let of_7 = fixture.bus.published().into_iter().filter(|(user, _)| *user == 7);
        assert_eq!(of_7.collect::<Vec<_>>(), [(7, 1), (7, 3), (7, 4), (7, 5)]);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_waiting_events_are_published_in_order_and_no_others_again() {
    let fixture = Fixture::start(0, Mood::WaitsFor(|user| user == 2));
    fixture.outbox.add_of([2, 1, 2, 3]);
    sleep(HOUR).await;
    let fixture = fixture.restart();
    sleep(HOUR).await;
    assert_eq!(fixture.outbox.users(), [2, 2]);
    // The first process' event comes, too.
    fixture.bus.is_in(Mood::Takes);
    fixture.drained().await;
    assert_eq!(fixture.bus.published(), [(1, 2), (3, 4), (2, 1), (2, 1), (2, 3)]);
}

#[tokio::test(start_paused = true)]
async fn with_too_many_unanswered_events_the_others_stay_in_the_outbox() {
    let most = WAITING_MAX as u64;
    let fixture = Fixture::start(1, Mood::WaitsFor(|user| user > 1));
    sleep(PACE).await;
    fixture.outbox.add(most + 99);
    sleep(HOUR).await;
    assert_eq!((fixture.bus.users(), fixture.outbox.len()), (vec![1], most + 99));
    assert_eq!(fixture.health.degraded().len(), 1, "nothing newer was published");
    // Some of those that are there, and all others.
    fixture.bus.is_in(Mood::WaitsFor(|user| (2..=WAITING_MAX as u64 - 99).contains(&user)));
    sleep(HOUR).await;
    assert_eq!((fixture.bus.users().len(), fixture.outbox.len()), (1 + 100, most - 1), "no room for a batch");
    let full = "too many events wait for the event bus: all others wait, too";
    assert!(fixture.health.degraded().contains(&full.to_owned()), "{:?}", fixture.health.degraded());
    fixture.bus.is_in(Mood::Takes);
    assert!(fixture.drained().await <= MOMENT);
    assert_eq!((fixture.bus.users().len() as u64, fixture.health.degraded().len()), (most + 100, 0));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_removed_is_removed_later_and_not_published_again() {
    let fixture = Fixture::start(0, Mood::Takes);
    fixture.outbox.removes.store(false, Ordering::Relaxed);
    fixture.outbox.add(3);
    sleep(LOOK_EVERY * 3).await;
    assert_eq!((fixture.bus.users(), fixture.outbox.len()), (vec![1, 2, 3], 3));
    fixture.outbox.removes.store(true, Ordering::Relaxed);
    assert!(fixture.drained().await <= LOOK_EVERY + MOMENT);
    assert_eq!(fixture.bus.users(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_outbox_that_can_be_read_again_and_is_empty_is_healthy() {
    let fixture = Fixture::start(0, Mood::Takes);
    fixture.outbox.reads.store(false, Ordering::Relaxed);
    sleep(LOOK_EVERY * 2).await;
    assert_eq!(fixture.health.degraded().len(), 1);
    fixture.outbox.reads.store(true, Ordering::Relaxed);
    sleep(RETRY_MAX).await;
    assert!(fixture.health.degraded().is_empty());
}
