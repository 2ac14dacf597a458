//! How conversations end: by strikes, with their token, at a drain, on request, out of numbers.

use std::time::Duration;

use heartline::edge::connection::close::CloseReason;
use heartline::edge::protocol::frame::{Answer, ErrorCode, ServerFrame};
use heartline::model::ids::UserId;

use crate::conversation::acks::acks;
use crate::conversation::gateway::Gateway;
use crate::conversation::peer::{End, Peer, TOKEN_LIFE};
use crate::conversation::text::{beat, beats, clear, get, list, token};
use crate::conversation::time::{BEGIN, pass, play};

const USER: UserId = UserId(42);
const SECOND: Duration = Duration::from_secs(1);

fn peer() -> (Gateway, Peer) {
    let gateway = Gateway::new();
    let peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
    (gateway, peer)
}

fn closed(reason: CloseReason) -> Option<End> {
    Some(End::Closed(reason))
}

fn is_error(frame: &ServerFrame, code: ErrorCode) -> bool {
    matches!(frame, ServerFrame::Error { code: it, .. } if *it == code)
}

#[test]
fn the_third_invalid_frame_in_a_row_is_answered_and_closes_it() {
    play(async {
        let (_gateway, mut peer) = peer();
        for text in ["{", "{}", r#"{"seq":1,"beats":{"items":[]}}"#, "{", r#"{"seq":1,"clear":{"at":1}}"#] {
            peer.send(text.to_owned());
        }
        assert_eq!(peer.end, None, "beats that are taken begin the count anew");
        peer.send(r#"{"seq":2,"unheard_of":{}}"#.to_owned());
        peer.send("{".to_owned());
        let said = peer.said();
        let invalid = said.iter().filter(|frame| is_error(frame, ErrorCode::Invalid)).count();
        assert_eq!((invalid, said.len(), peer.end), (5, 7, closed(CloseReason::Invalid)), "{said:?}");
    });
}

#[test]
fn frames_before_the_last_strike_are_answered_before_the_close() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        (0..4).for_each(|_| peer.send("{".to_owned()));
        assert_eq!((peer.said().len(), peer.end, peer.has_unread()), (3, None, true));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [1]);
        assert_eq!(peer.end, closed(CloseReason::Invalid));
    });
}

#[test]
fn a_socket_whose_token_ends_is_closed_once_all_is_answered() {
    play(async {
        let (mut gateway, mut peer) = peer();
        pass(TOKEN_LIFE - SECOND).await;
        peer.go_on();
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        pass(SECOND).await;
        assert!(peer.said().is_empty() && peer.end.is_none());
        peer.send(beats(2, &[beat(1, 1, BEGIN)]));
        assert_eq!(peer.heard.len(), 1, "it is not read");
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [1]);
        assert_eq!(peer.end, closed(CloseReason::Expired));
    });
}

#[test]
fn a_renewal_in_time_counts_and_a_bad_one_changes_nothing() {
    play(async {
        let (gateway, mut peer) = peer();
        pass(TOKEN_LIFE - SECOND).await;
        for bad in ["nonsense".to_owned(), gateway.token(UserId(7), TOKEN_LIFE)] {
            peer.send(token(peer.heard.len() as u32 + 1, &bad));
            let said = peer.said();
            assert!(is_error(&said[0], ErrorCode::Unauthorized), "{said:?}");
        }
        peer.send(token(3, &gateway.token(USER, 2 * TOKEN_LIFE)));
        let said = peer.said();
        let expires = BEGIN + (3 * TOKEN_LIFE - SECOND).as_millis() as u64;
        let renewed = |until| matches!(&said[..], [ServerFrame::Result { seq: 3, answer: Answer::Token { expires } }] if *expires == until);
        assert!(renewed(expires), "{said:?}");
        pass(2 * TOKEN_LIFE - SECOND).await;
        assert!(peer.said().is_empty() && peer.end.is_none());
        pass(SECOND).await;
        peer.go_on();
        assert_eq!(peer.end, closed(CloseReason::Expired));
    });
}

#[test]
fn a_renewal_that_waits_behind_an_order_at_the_end_of_the_token_counts() {
    play(async {
        let (mut gateway, mut peer) = peer();
        pass(TOKEN_LIFE - SECOND).await;
        peer.send(clear(1, BEGIN));
        peer.send(token(2, &gateway.token(USER, TOKEN_LIFE)));
        pass(2 * SECOND).await;
        gateway.commit_all();
        let said = peer.said();
        assert_eq!((said.len(), peer.end), (2, None), "{said:?}");
    });
}

#[test]
fn a_draining_socket_leaves_once_all_is_answered() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        peer.send(get(2, &[1]));
        peer.hurry();
        assert_eq!(peer.end, None);
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [1]);
        assert_eq!(peer.end, None, "the read is under way");
        gateway.reads.asked().pop_front().expect("a read").answer(true);
        assert_eq!((peer.said().len(), peer.end), (1, Some(End::Left)));
    });
}

#[test]
fn a_kicked_socket_is_closed_at_once_with_acks_of_committed_beats() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        gateway.commit_all();
        gateway.kick(USER);
        assert_eq!(acks(&peer.said()), [1]);
        assert_eq!(peer.end, closed(CloseReason::Kicked));
    });
}

#[test]
fn a_kick_cancels_the_running_operation() {
    play(async {
        let (mut gateway, mut peer) = peer();
        peer.send(get(1, &[1]));
        let asked = gateway.reads.asked();
        gateway.kick(USER);
        assert!(peer.said().is_empty());
        assert_eq!((peer.end, asked[0].is_awaited()), (closed(CloseReason::Kicked), false));
        gateway.commit_all();
    });
}

#[test]
fn after_the_last_number_nothing_is_read_and_a_list_does_not_wait() {
    play(async {
        let (mut gateway, mut peer) = peer();
        let _others = gateway.context.lists.try_acquire(USER, crate::conversation::time::now());
        peer.send(beats(u32::MAX - 1, &[beat(1, 1, BEGIN)]));
        peer.send(list(u32::MAX));
        assert_eq!((peer.said().len(), peer.end), (0, None));
        gateway.commit_all();
        let said = peer.said();
        let [ServerFrame::Ack(ack), refused] = &said[..] else { panic!("{said:?}") };
        assert!(ack.seq == u32::MAX - 1 && is_error(refused, ErrorCode::Unavailable), "{said:?}");
        assert_eq!(peer.end, closed(CloseReason::OutOfNumbers));
        let hello_was_the_last = Peer::new(&gateway, USER, u32::MAX, Duration::ZERO);
        assert_eq!(ended_at_once(hello_was_the_last), closed(CloseReason::OutOfNumbers));
    });
}

fn ended_at_once(mut peer: Peer) -> Option<End> {
    peer.go_on();
    peer.end
}
