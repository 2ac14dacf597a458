//! Operations: in the order of their numbers, one at a time, and each answered once.

use std::time::Duration;

use heartline::edge::protocol::frame::{Answer, ErrorCode, ServerFrame};
use heartline::model::ids::UserId;

use crate::conversation::acks::acks;
use crate::conversation::gateway::Gateway;
use crate::conversation::peer::Peer;
use crate::conversation::text::{beat, beats, clear, delete, get};
use crate::conversation::time::{BEGIN, pass, play};

const USER: UserId = UserId(42);
const PATIENCE: Duration = Duration::from_secs(5);

fn peer() -> (Gateway, Peer) {
    let gateway = Gateway::new();
    let peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
    (gateway, peer)
}

pub fn is_unavailable(frame: &ServerFrame, number: u32) -> bool {
    matches!(frame, ServerFrame::Error { seq: Some(seq), code: ErrorCode::Unavailable, .. } if *seq == number)
}

fn is_done(frame: &ServerFrame, number: u32) -> bool {
    matches!(frame, ServerFrame::Result { seq, answer: Answer::Done } if *seq == number)
}

/// The `at` of each record of an answer.
fn ats(frame: &ServerFrame) -> Vec<Option<u64>> {
    match frame {
        ServerFrame::Result { answer: Answer::Records { records, .. }, .. } => {
            records.iter().map(|record| record.as_ref().map(|record| record.at)).collect()
        }
        other => panic!("no records: {other:?}"),
    }
}

#[test]
fn a_read_waits_for_the_commit_of_what_was_said_before_it() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        let group = gateway.take(9);
        peer.send(get(2, &[1, 2]));
        peer.send(beats(3, &[beat(1, 1, BEGIN + 1)]));
        assert!(gateway.reads.asked().is_empty() && peer.heard.len() == 2);
        gateway.commit(group);
        assert_eq!(acks(&peer.said()), [1]);
        let asked = gateway.reads.asked().pop_front().expect("a read");
        assert_eq!(peer.heard.len(), 2, "nothing is read meanwhile");
        asked.answer(true);
        let said = peer.said();
        assert_eq!((said.len(), ats(&said[0])), (1, vec![Some(BEGIN), None]));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [3]);
    });
}

#[test]
fn a_get_after_a_delete_sees_the_delete() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(beats(1, &[beat(1, 1, BEGIN), beat(2, 1, BEGIN)]));
        peer.send(get(2, &[1, 2]));
        peer.send(delete(3, &[1], BEGIN));
        peer.send(get(4, &[1, 2]));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [1]);
        gateway.reads.asked().pop_front().expect("the first get").answer(true);
        assert_eq!(ats(&peer.said()[0]), [Some(BEGIN), Some(BEGIN)]);
        assert!(gateway.reads.asked().is_empty(), "the delete is not committed");
        gateway.commit_all();
        assert!(is_done(&peer.said()[0], 3));
        gateway.reads.asked().pop_front().expect("the second get").answer(true);
        assert_eq!(ats(&peer.said()[0]), [None, Some(BEGIN)]);
    });
}

#[test]
fn operations_that_wait_for_a_commit_time_out_and_beats_do_not() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        peer.send(get(2, &[1]));
        pass(PATIENCE - Duration::from_millis(1)).await;
        assert!(peer.said().is_empty());
        pass(Duration::from_millis(1)).await;
        assert!(is_unavailable(&peer.said()[0], 2));
        pass(Duration::from_secs(3)).await;
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [1]);
        assert!(gateway.reads.asked().is_empty());
    });
}

#[test]
fn after_a_timed_out_order_no_other_order_is_taken_until_its_outcome() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(clear(1, BEGIN));
        pass(PATIENCE).await;
        assert!(is_unavailable(&peer.said()[0], 1));
        peer.send(delete(2, &[1], BEGIN));
        assert!(is_unavailable(&peer.said()[0], 2), "the first one may still be done");
        peer.send(get(3, &[1]));
        gateway.reads.asked().pop_front().expect("a read").answer(true);
        assert_eq!(ats(&peer.said()[0]), [None]);
        gateway.commit_all();
        assert!(peer.said().is_empty());
        peer.send(delete(4, &[1], BEGIN));
        gateway.commit_all();
        assert!(is_done(&peer.said()[0], 4));
    });
}

#[test]
fn a_read_that_fails_is_unavailable_and_the_next_one_goes_on() {
    play(async {
        let (gateway, mut peer) = peer();
        peer.send(get(1, &[1]));
        gateway.reads.asked().pop_front().expect("a read").answer(false);
        assert!(is_unavailable(&peer.said()[0], 1));
        peer.send(get(2, &[1]));
        let asked = gateway.reads.asked();
        pass(Duration::from_secs(3)).await;
        assert!(is_unavailable(&peer.said()[0], 2), "it takes too long");
        assert!(!asked[0].is_awaited());
    });
}
