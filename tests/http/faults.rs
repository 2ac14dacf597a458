//! Sockets under load over a store that fails: nothing is acked that is not stored.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use heartline::model::ids::Content;
use heartline::storage::hot_store::StoreError;

use super::beat;
use super::faulty::Fault;
use super::fixture::Fixture;
use super::sockets::connect;

/// As many as one user may have here.
const SOCKETS: u64 = 8;
/// On each socket: fewer than a burst of frames.
const BEATS: u64 = 80;
const BETWEEN: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(60);

/// What the sockets were told.
#[derive(Default)]
struct Told {
    /// Contents whose beats were acked.
    acked: RefCell<Vec<u64>>,
    in_flight: Cell<u64>,
}

impl Told {
    fn acks(&self) -> usize {
        self.acked.borrow().len()
    }
}

/// A beat a content, one in flight on each socket, until all are acked or the socket ends.
fn load(fixture: &Rc<Fixture>, address: std::net::SocketAddr, told: &Rc<Told>) -> Vec<JoinHandle<()>> {
    let life = |number: u64| {
        let (fixture, told) = (fixture.clone(), told.clone());
        spawn_local(async move {
            let mut socket = connect(address, &fixture.token).await;
            for seq in 1..=BEATS {
                let oid = number * BEATS + seq;
                let frame = json!({"seq": seq, "beats": {"items": [beat(&fixture, oid, 0, "playing")]}});
                socket.send(Message::text(frame.to_string())).await.expect("sent");
                told.in_flight.set(told.in_flight.get() + 1);
                loop {
                    let Some(Ok(message)) = socket.next().await else { return };
                    let heard: Value = serde_json::from_str(message.to_text().expect("text")).expect("JSON");
                    if heard["ack"]["seq"] == seq {
                        assert!(heard["ack"].get("rejected").is_none(), "{heard}");
                        break;
                    }
                }
                told.in_flight.set(told.in_flight.get() - 1);
                told.acked.borrow_mut().push(oid);
                sleep(BETWEEN).await;
            }
        })
    };
    (0..SOCKETS).map(life).collect()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let holding = async {
        while !holds() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, holding).await.unwrap_or_else(|_| panic!("{what} does not come"));
}

async fn assert_stored(fixture: &Fixture, oids: &[u64]) {
    let records = fixture.records(oids.iter().map(|oid| Content { kind: 1, oid: *oid }).collect()).await;
    let lost: Vec<_> = oids.iter().zip(&records).filter(|(_, record)| record.is_none()).collect();
    assert!(lost.is_empty(), "acked, and not there: {lost:?}");
}

/// Under load, then with this fault while all clients wait.
async fn break_under_load(fault: Fault) -> (Rc<Fixture>, Rc<Told>, Vec<JoinHandle<()>>) {
    let (fixture, told) = (Rc::new(Fixture::new()), Rc::new(Told::default()));
    let lives = load(&fixture, fixture.listen().await, &told);
    until("the load", || told.acks() > 3 * SOCKETS as usize).await;
    fixture.store.turn(fault);
    until("the fault", || fixture.store.refused() > 0 && told.in_flight.get() == SOCKETS).await;
    (fixture, told, lives)
}

async fn recovers_from(fault: Fault) {
    let (fixture, told, lives) = break_under_load(fault).await;
    assert!(!(fixture.takes_writes)());
    let acked = told.acks();
    sleep(Duration::from_millis(300)).await;
    assert_eq!(told.acks(), acked, "acks while the store was away");
    fixture.store.turn(Fault::None);
    timeout(PATIENCE, join_all(lives)).await.expect("all acks").into_iter().for_each(|life| life.expect("no panic"));
    assert!((fixture.takes_writes)());
    let oids = told.acked.borrow().clone();
    assert_eq!(oids.len() as u64, SOCKETS * BEATS);
    assert_stored(&fixture, &oids).await;
}

#[tokio::test]
async fn no_beat_is_acked_while_the_store_is_away_and_all_are_once_it_is_back() {
    LocalSet::new().run_until(recovers_from(Fault::Away)).await;
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_is_acked_once_it_is_known() {
    LocalSet::new().run_until(recovers_from(Fault::Unsure)).await;
}

#[tokio::test]
async fn after_a_failure_nothing_is_acked_even_if_the_store_takes_writes_again() {
    let run = async {
        let (fixture, told, lives) = break_under_load(Fault::Failed).await;
        let oids = told.acked.borrow().clone();
        fixture.store.turn(Fault::None);
        sleep(Duration::from_millis(300)).await;
        assert_eq!(told.acks(), oids.len(), "acks after the store had failed");
        assert_eq!(fixture.store.refused(), 1, "tried again");
        assert!(!(fixture.takes_writes)());
        let failure = fixture.ended.take().expect("not asked yet").await.expect("no panic");
        assert!(matches!(failure, StoreError::Failed(_)), "{failure}");
        assert_stored(&fixture, &oids).await;
        lives.into_iter().for_each(|life| life.abort());
    };
    LocalSet::new().run_until(run).await;
}
