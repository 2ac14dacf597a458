//! Acks: after the commit, in the order of frames, and late only as asked.

use std::time::Duration;

use heartline::edge::protocol::frame::ServerFrame;
use heartline::model::ids::UserId;
use heartline::model::rule::Reason;

use crate::conversation::gateway::{ACK_DELAY, Gateway, UNCOMMITTED, WEIGHT};
use crate::conversation::peer::Peer;
use crate::conversation::text::{beat, beats, hello};
use crate::conversation::time::{BEGIN, pass, play};

const USER: UserId = UserId(42);

/// The numbers of acks, when nothing else was said.
pub fn acks(said: &[ServerFrame]) -> Vec<u32> {
    let seqs = said.iter().map(|frame| match frame {
        ServerFrame::Ack(ack) => ack.seq,
        other => panic!("not an ack: {other:?}"),
    });
    seqs.collect()
}

#[test]
fn beats_are_acked_after_their_commit_and_in_their_order() {
    play(async {
        let mut gateway = Gateway::new();
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        peer.send(beats(2, &[beat(1, 2, BEGIN + 1), beat(2, 1, BEGIN)]));
        let first = gateway.take(1);
        assert!(peer.said().is_empty(), "nothing is committed");
        gateway.commit(first);
        assert_eq!(acks(&peer.said()), [1]);
        let second = gateway.take(1);
        gateway.commit(second);
        assert!(peer.said().is_empty(), "half of the frame");
        // It joins the slot of the frame before it.
        peer.send(beats(4, &[beat(2, 1, BEGIN + 2)]));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [4]);
    });
}

/// A slot keeps its beats, so those that join one are bounded, too.
#[test]
fn beats_of_one_slot_wait_in_bounded_numbers() {
    play(async {
        let mut gateway = Gateway::roomy();
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        let most = 4 * UNCOMMITTED as u32;
        for seq in 1..=most + 2 {
            peer.send(beats(seq, &[beat(1, 1, BEGIN + u64::from(seq))]));
        }
        assert_eq!((peer.heard.len() as u32, peer.has_unread()), (most + 1, true), "one is held, the other not read");
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [most]);
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [most + 2]);
    });
}

#[test]
fn beats_that_share_slots_take_up_the_room_of_all_connections() {
    play(async {
        let mut gateway = Gateway::new();
        let (mut one, mut other) =
            (Peer::new(&gateway, USER, 0, Duration::ZERO), Peer::new(&gateway, UserId(43), 0, Duration::ZERO));
        let trail: Vec<_> = (0..WEIGHT as u64).map(|after| beat(1, 1, BEGIN + after)).collect();
        one.send(beats(1, &trail));
        other.send(beats(1, &[beat(1, 1, BEGIN)]));
        let first = gateway.take(usize::MAX);
        assert_eq!(first.len(), 1, "the other finds no room");
        gateway.commit(first);
        assert_eq!(acks(&one.said()), [1]);
        other.go_on();
        gateway.commit_all();
        assert_eq!(acks(&other.said()), [1]);
    });
}

#[test]
fn a_frame_that_finds_no_room_is_held_and_nothing_more_is_read_before_it_is_taken() {
    play(async {
        let mut gateway = Gateway::new();
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        let frame = |seq: u32| {
            let items: Vec<_> = (0..UNCOMMITTED as u64 - 1).map(|oid| beat(oid, u64::from(seq), BEGIN)).collect();
            beats(seq, &items)
        };
        for seq in [1, 2, 3] {
            peer.send(frame(seq));
        }
        assert_eq!((peer.heard.len(), peer.has_unread()), (2, true));
        // It would still not find room.
        let some = gateway.take(1);
        gateway.commit(some);
        assert!(peer.said().is_empty() && peer.heard.len() == 2);
        for seq in [1, 2, 3] {
            gateway.commit_all();
            assert_eq!(acks(&peer.said()), [seq]);
        }
        assert_eq!((peer.heard.len(), peer.has_unread()), (3, false));
    });
}

#[test]
fn beats_that_are_all_rejected_are_answered_at_once_and_once() {
    play(async {
        let mut gateway = Gateway::new();
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        peer.send(beats(1, &[beat(1, 1, BEGIN), beat(2, 1, BEGIN + 60_000)]));
        let said = peer.said();
        let [ServerFrame::Ack(ack)] = &said[..] else { panic!("{said:?}") };
        assert_eq!((ack.seq, ack.now), (0, Some(BEGIN)));
        let rejected: Vec<_> = ack.rejected.iter().map(|it| (it.seq, it.index, it.reason)).collect();
        assert_eq!(rejected, [(Some(1), 1, Reason::Clock)]);
        gateway.commit_all();
        let said = peer.said();
        assert!(matches!(&said[..], [ServerFrame::Ack(ack)] if ack.seq == 1 && ack.rejected.is_empty()), "{said:?}");
    });
}

/// A connection that may be acked late, of which a steady beat was committed.
async fn with_a_late_ack() -> (Gateway, Peer) {
    let mut gateway = Gateway::new();
    let mut peer = Peer::new(&gateway, USER, 0, ACK_DELAY);
    peer.send(beats(1, &[beat(1, 1, BEGIN)]));
    gateway.commit_all();
    assert_eq!(acks(&peer.said()), [1], "a new record is no steady one");
    peer.send(beats(2, &[beat(1, 1, BEGIN + 1)]));
    gateway.commit_all();
    assert!(peer.said().is_empty());
    (gateway, peer)
}

#[test]
fn steady_beats_are_acked_as_late_as_asked() {
    play(async {
        let (mut gateway, mut peer) = with_a_late_ack().await;
        peer.send(beats(3, &[beat(1, 1, BEGIN + 2)]));
        pass(ACK_DELAY - Duration::from_millis(1)).await;
        assert!(peer.said().is_empty());
        pass(Duration::from_millis(1)).await;
        assert_eq!(acks(&peer.said()), [2]);
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [3], "what was not committed in time is acked with its commit");
    });
}

#[test]
fn another_state_is_acked_at_once_with_all_before_it() {
    play(async {
        let (mut gateway, mut peer) = with_a_late_ack().await;
        peer.send(beats(3, &[beat(1, 2, BEGIN + 2)]));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [3]);
    });
}

#[test]
fn during_a_drain_acks_are_immediate_whatever_a_hello_asks_for() {
    play(async {
        let (mut gateway, mut peer) = with_a_late_ack().await;
        peer.send(beats(3, &[beat(2, 1, BEGIN)]));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [3]);
        peer.send(beats(4, &[beat(1, 1, BEGIN + 2)]));
        peer.hurry();
        peer.send(hello(5, 2_000));
        peer.send(beats(6, &[beat(2, 1, BEGIN + 2)]));
        gateway.commit_all();
        let said = peer.said();
        assert!(
            matches!(&said[..], [ServerFrame::Result { seq: 5, .. }, ServerFrame::Ack(ack)] if ack.seq == 6),
            "{said:?}"
        );
        assert!(peer.end.is_some(), "all is answered");
    });
}
