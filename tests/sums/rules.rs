//! The rules of sums one by one, each on the shortest way to the state that a bug would get wrong.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::sums::{Flight, FlightNumber, Sum, SumKey, Unit};
use heartline::model::view::{View, Viewed};
use heartline::storage::sums::{PendingSums, Taken};
use heartline::storage::views::Views;
use tokio::time::timeout;

use crate::sums::gateway::{Gateway, runtime};
use crate::sums::redis_server::RedisServer;
use crate::sums::statistics::{FakeStatistics, Fault};
use crate::sums::{PATIENCE, content, day, prepared};

pub fn gateway(server: &RedisServer, statistics: &FakeStatistics) -> Gateway {
    Gateway::start(&server.url(), Arc::new(statistics.clone()), None)
}

pub fn count(gateway: &Gateway, user: u64, content: Content, session: Option<u64>) -> Viewed {
    let view = View { user: UserId(user), content, session: session.map(SessionId), day: day() };
    runtime().block_on(gateway.views.count(view)).unwrap()
}

/// Runs the gateway's flusher until this holds.
pub async fn flush_until(gateway: &Gateway, holds: impl Fn(&Gateway) -> bool) {
    let held = async {
        while !holds(gateway) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let flushed = async {
        tokio::select! {
            () = gateway.flusher.run() => {}
            () = held => {}
        }
    };
    timeout(PATIENCE, flushed).await.expect("flights are written");
}

pub fn has_written(gateway: &Gateway) -> bool {
    gateway.metrics.flights.get() > 0
}

pub fn take(gateway: &Gateway, number: FlightNumber) -> Taken {
    runtime().block_on(gateway.sums.take(number)).unwrap()
}

fn flight(number: FlightNumber, contents: &[Content]) -> Taken {
    let keys = contents.iter().flat_map(|content| [SumKey::Views(*content), SumKey::ViewsOn(*content, day())]);
    Taken::Flight(Flight { unit: Unit::ALL, number, sums: keys.map(|key| (key, Sum::of(1))).collect() })
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_flight_is_refused_while_a_shard_holds_a_lower_one() {
    let (_directory, server) = prepared();
    let gateway = gateway(&server, &FakeStatistics::default());
    count(&gateway, 1, content(1), None);
    assert_eq!(take(&gateway, 10), flight(10, &[content(1)]));
    count(&gateway, 1, content(2), None);
    assert_eq!(take(&gateway, 20), Taken::Lower(10));
    runtime().block_on(gateway.sums.remove(10)).unwrap();
    assert_eq!(take(&gateway, 20), flight(20, &[content(2)]));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_flight_stays_the_same_although_a_shard_was_empty() {
    let (_directory, server) = prepared();
    let gateway = gateway(&server, &FakeStatistics::default());
    count(&gateway, 1, content(1), None);
    let taken = take(&gateway, 10);
    // In other shards, as good as surely.
    let later: Vec<Content> = (2..12).map(content).collect();
    for content in &later {
        count(&gateway, 1, *content, None);
    }
    assert_eq!(take(&gateway, 10), taken);
    runtime().block_on(gateway.sums.remove(10)).unwrap();
    assert_eq!(take(&gateway, 20), flight(20, &later));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_flight_stays_until_it_is_written() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = gateway(&server, &statistics);
    count(&gateway, 1, content(1), None);
    statistics.fail(Fault::Away);
    runtime().block_on(flush_until(&gateway, |gateway| gateway.metrics.failures.get() > 0));
    let look = runtime().block_on(gateway.sums.look()).unwrap();
    assert!(look.held.is_some(), "{look:?}");
    statistics.recover();
    runtime().block_on(flush_until(&gateway, has_written));
    assert_eq!(statistics.total(content(1)), 1);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_deletion_takes_along_what_is_pending() {
    let (_directory, server) = prepared();
    let statistics = FakeStatistics::default();
    let gateway = gateway(&server, &statistics);
    count(&gateway, 1, content(1), None);
    runtime().block_on(async {
        let flushed = async {
            gateway.soon.notified().await;
            flush_until(&gateway, has_written).await;
        };
        let (deleted, ()) = tokio::join!(timeout(PATIENCE, gateway.views.delete(content(1))), flushed);
        deleted.expect("the deletion is written").unwrap();
        assert_eq!(gateway.views.totals(vec![content(1)]).await.unwrap(), [Some(0)]);
    });
    assert_eq!(statistics.total(content(1)), 0);
    assert_eq!(count(&gateway, 1, content(1), None).total, Some(1));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn each_session_is_marked_with_its_view() {
    let (_directory, server) = prepared();
    let gateway = gateway(&server, &FakeStatistics::default());
    for session in 0..200 {
        let first = count(&gateway, 1, content(1), Some(session));
        assert_eq!(first, Viewed { counted: true, total: Some(session + 1) });
        let again = count(&gateway, 1, content(1), Some(session));
        assert_eq!(again, Viewed { counted: false, total: Some(session + 1) });
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_total_read_before_a_flight_was_written_and_removed_is_read_again() {
    let (_directory, server) = prepared();
    // A store that takes too long is not waited for, so on a machine that is busy it may take more than one attempt.
    let until = Instant::now() + PATIENCE;
    let told = (0..).take_while(|_| Instant::now() < until).find_map(|oid| total_read_before_a_flight(&server, oid));
    assert_eq!(told, Some(2));
}

/// What the second view of a content is told, if anything. A flight with the first one is written and removed after the
/// stored total was read and before it is known.
fn total_read_before_a_flight(server: &RedisServer, oid: u64) -> Option<u64> {
    let statistics = FakeStatistics::default();
    let [counting, flushing] = [(); 2].map(|()| gateway(server, &statistics));
    statistics.fail(Fault::Away);
    assert_eq!(count(&flushing, 1, content(oid), None).total, None, "it is pending, and its total is not remembered");

    statistics.fail(Fault::LateReads);
    thread::scope(|scope| {
        let told = scope.spawn(|| count(&counting, 2, content(oid), None).total);
        runtime().block_on(async {
            timeout(PATIENCE, statistics.has_read(1)).await.expect("the total is read");
            flush_until(&flushing, has_written).await;
        });
        assert_eq!(statistics.total(content(oid)), 1);
        statistics.recover();
        told.join().unwrap()
    })
}
