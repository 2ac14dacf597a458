//! Turns: lists of a user one after the other and at a rate, long frames of a thread one at a time.

use std::time::Duration;

use heartline::domain::ingest::submit_queue::SubmitQueue;
use heartline::edge::protocol::frame::{Answer, ServerFrame};
use heartline::model::ids::UserId;

use crate::conversation::acks::acks;
use crate::conversation::gateway::{Gateway, ROWS_PER_SECOND};
use crate::conversation::operations::is_unavailable;
use crate::conversation::peer::{End, Peer};
use crate::conversation::text::{beat, beats, get, list, padded};
use crate::conversation::time::{BEGIN, now, pass, play};

const USER: UserId = UserId(42);
const OTHER: UserId = UserId(7);

fn is_page(frame: &ServerFrame, number: u32, rows: usize) -> bool {
    matches!(frame, ServerFrame::Result { seq, answer: Answer::Page { records, .. } }
        if *seq == number && records.len() == rows)
}

/// A user whose lists have used up all rows for some seconds.
async fn with_lists_to_pay_for(seconds: u32) -> (Gateway, Peer) {
    let gateway = Gateway::new();
    let peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
    let Ok(permit) = gateway.context.lists.try_acquire(USER, now()) else { panic!("a turn") };
    permit.rows().add(u64::from(ROWS_PER_SECOND * (seconds + 1)));
    (gateway, peer)
}

#[test]
fn a_list_waits_until_the_ones_before_it_are_paid_for_and_lets_beats_pass() {
    play(async {
        let (mut gateway, mut peer) = with_lists_to_pay_for(10).await;
        peer.send(list(1));
        peer.send(beats(2, &[beat(1, 1, BEGIN)]));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [2]);
        peer.send(get(3, &[1]));
        assert!(peer.said().is_empty() && peer.heard.len() == 3, "it waits behind the list");
        pass(Duration::from_secs(9)).await;
        assert!(peer.said().is_empty() && gateway.reads.asked().is_empty(), "and not only for its 5 s");
        pass(Duration::from_secs(2)).await;
        assert!(peer.said().is_empty());
        gateway.reads.asked().pop_front().expect("the list").answer(true);
        let said = peer.said();
        assert!(said.len() == 1 && is_page(&said[0], 1, 1), "{said:?}");
        gateway.reads.asked().pop_front().expect("the get").answer(true);
        assert!(matches!(&peer.said()[..], [ServerFrame::Result { seq: 3, .. }]));
    });
}

#[test]
fn a_waiting_list_is_given_up_when_the_gateway_drains() {
    play(async {
        let (gateway, mut peer) = with_lists_to_pay_for(10).await;
        peer.send(list(1));
        assert!(peer.said().is_empty());
        peer.hurry();
        assert!(is_unavailable(&peer.said()[0], 1));
        assert_eq!(peer.end, Some(End::Left));
        assert!(gateway.reads.asked().is_empty());
    });
}

#[test]
fn a_list_waits_for_30_s_at_most() {
    play(async {
        let (_gateway, mut peer) = with_lists_to_pay_for(40).await;
        peer.send(list(1));
        assert!(peer.said().is_empty());
        pass(Duration::from_secs(29)).await;
        assert!(peer.said().is_empty());
        pass(Duration::from_secs(1)).await;
        assert!(is_unavailable(&peer.said()[0], 1));
    });
}

#[test]
fn long_frames_of_two_clients_are_handled_one_after_the_other() {
    play(async {
        let mut gateway = Gateway::new();
        let [mut one, mut two] = [USER, OTHER].map(|user| Peer::new(&gateway, user, 0, Duration::ZERO));
        let long = |seq, at| padded(beats(seq, &[beat(1, 1, at)]), SubmitQueue::LONG_FRAME_BYTES);
        one.send(long(1, BEGIN));
        two.send(long(1, BEGIN));
        one.send(beats(2, &[beat(1, 1, BEGIN + 1)]));
        // A short frame of its own waits for the long one.
        assert_eq!((one.heard.len(), gateway.submit_queue().len()), (1, 1));
        gateway.commit_all();
        assert_eq!(acks(&one.said()), [1]);
        assert!(two.said().is_empty());
        assert_eq!((one.heard.len(), gateway.submit_queue().len()), (2, 2), "two has its turn");
        gateway.commit_all();
        assert_eq!((acks(&one.said()), acks(&two.said())), (vec![2], vec![1]));
    });
}

#[test]
fn a_long_frame_of_a_client_that_does_not_read_gives_up_its_turn() {
    play(async {
        let mut gateway = Gateway::new();
        let [mut one, mut two] = [USER, OTHER].map(|user| Peer::new(&gateway, user, 0, Duration::ZERO));
        let long = |seq| padded(beats(seq, &[beat(1, 1, BEGIN)]), SubmitQueue::LONG_FRAME_BYTES);
        one.send(long(1));
        two.send(long(1));
        assert_eq!(gateway.submit_queue().len(), 1);
        one.stuck = true;
        one.go_on();
        two.go_on();
        assert_eq!(gateway.submit_queue().len(), 2);
        gateway.commit_all();
        assert_eq!(acks(&two.said()), [1]);
        one.stuck = false;
        assert_eq!(acks(&one.said()), [1]);
    });
}

#[test]
fn a_long_operation_waits_5_s_for_its_turn_and_beats_for_as_long_as_it_takes() {
    play(async {
        let gateway = Gateway::new();
        let [mut one, mut two] = [USER, OTHER].map(|user| Peer::new(&gateway, user, 0, Duration::ZERO));
        let permit = gateway.submit_queue().try_large_frame_permit();
        // What is not beats needs nothing that the long frames of others hold up, but for having been put off.
        one.send(padded(beats(1, &[beat(1, 1, BEGIN)]), SubmitQueue::LONG_FRAME_BYTES));
        two.send(padded(get(1, &[1]), SubmitQueue::LONG_FRAME_BYTES));
        pass(Duration::from_secs(5)).await;
        assert!(one.said().is_empty() && two.said().is_empty());
        assert_eq!((gateway.reads.asked().len(), gateway.submit_queue().len()), (1, 0));
        pass(Duration::from_secs(60)).await;
        assert!(one.said().is_empty() && gateway.submit_queue().is_empty());
        drop(permit);
        one.go_on();
        assert_eq!(gateway.submit_queue().len(), 1);
    });
}
