//! Steady beats wait for later ones of their session, and for nothing else.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use heartline::domain::devices::ready_list::Notifier;
use heartline::domain::ingest::coalesce::Entry;
use heartline::model::change::Action;
use heartline::model::ids::UserId;
use heartline::model::visitor::Visitor;

use crate::conversation::acks::acks;
use crate::conversation::gateway::{ACK_DELAY, Gateway};
use crate::conversation::peer::Peer;
use crate::conversation::text::{beat, beats, clear, delete, get, hello, token};
use crate::conversation::time::{BEGIN, pass, play};

const USER: UserId = UserId(42);
const HOLD: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(1);

/// A client whose content 1 plays in session 1, acked up to its frame 1.
fn playing(gateway: &mut Gateway, ack_delay: Duration) -> Peer {
    let mut peer = Peer::new(gateway, USER, 0, ack_delay);
    peer.send(beats(1, &[beat(1, 1, BEGIN)]));
    gateway.commit_all();
    assert_eq!(acks(&peer.said()), [1]);
    peer
}

/// Over HTTP, say, and for the client of this connection.
fn clear_by_request(gateway: &Gateway, peer: &Peer) {
    let notifier = Notifier::Own(Arc::default());
    let inbox = gateway.presence.request(USER, Some(peer.connection), Visitor::default(), notifier);
    gateway.submit_queue().order(&inbox, Action::Clear { at: BEGIN });
}

/// The newest moments of slots that wait for a commit, counted from the beginning.
fn submitted(gateway: &Gateway) -> Vec<u64> {
    let slot = |entry: &Entry| match entry {
        Entry::Slot(slot) => slot.beat.at.wrapping_sub(BEGIN),
        Entry::Order { .. } => panic!("no order was placed"),
    };
    gateway.take(usize::MAX).iter().map(slot).collect()
}

#[test]
fn one_commit_keeps_all_beats_of_a_hold() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        for round in 0..3 {
            for seq in [2, 3, 4] {
                peer.send(beats(10 * round + seq, &[beat(1, 1, BEGIN + u64::from(10 * round + seq))]));
            }
            pass(HOLD - MOMENT).await;
            assert!(peer.said().is_empty() && gateway.take(1).is_empty(), "it waits");
            pass(MOMENT).await;
            peer.go_on();
            let group = gateway.take(usize::MAX);
            assert_eq!(group.len(), 1);
            gateway.commit(group);
            assert!(peer.said().is_empty(), "its ack may be later still");
            pass(ACK_DELAY - HOLD).await;
            assert_eq!(acks(&peer.said()), [10 * round + 4]);
        }
    });
}

#[test]
fn a_read_waits_for_what_a_connection_held_that_has_ended() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        gateway.kick(USER);
        peer.go_on();
        assert!(peer.end.is_some());
        let mut waits = gateway.commit_held(USER);
        assert_eq!(waits.len(), 1);
        assert_eq!((&mut waits[0]).now_or_never(), None);
        gateway.commit_all();
        assert!((&mut waits[0]).now_or_never().is_some());
    });
}

#[test]
fn the_next_hold_begins_although_the_ack_of_the_last_one_waits() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        pass(HOLD).await;
        peer.go_on();
        gateway.commit_all();
        peer.send(beats(3, &[beat(1, 1, BEGIN + 3)]));
        assert_eq!(submitted(&gateway), [0; 0]);
    });
}

#[test]
fn any_other_frame_commits_the_held_beats_at_once() {
    let pause = || beats(3, &[beat(1, 1, BEGIN + 3)]).replace("playing", "paused");
    let other_session = || beats(3, &[beat(1, 2, BEGIN + 3)]);
    let other_content = || beats(3, &[beat(2, 1, BEGIN + 3)]);
    let several = || beats(3, &[beat(1, 1, BEGIN + 3), beat(1, 1, BEGIN + 4)]);
    // The pause and the several join the slot of what was held.
    let cases = [
        (pause(), vec![3]),
        (other_session(), vec![2, 3]),
        (other_content(), vec![2, 3]),
        (several(), vec![4]),
        (get(3, &[1]), vec![2]),
        (delete(3, &[1], BEGIN + 1), vec![2]),
        (hello(3, 0), vec![2]),
        ("nonsense".to_owned(), vec![2]),
    ];
    for (said, expected) in cases {
        play(async {
            let mut gateway = Gateway::holding(HOLD);
            let mut peer = playing(&mut gateway, ACK_DELAY);
            peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
            assert_eq!(submitted(&gateway), [0; 0]);
            peer.send(said.clone());
            assert_eq!(submitted(&gateway), expected, "{said}");
        });
    }
}

#[test]
fn a_new_token_commits_held_beats_and_changes_nothing_else() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        peer.send(token(3, &gateway.token(USER, Duration::from_secs(60))));
        gateway.commit_all();
        pass(MOMENT).await;
        peer.send(beats(4, &[beat(1, 1, BEGIN + 4)]));
        assert_eq!(submitted(&gateway), [0; 0]);
    });
}

#[test]
fn after_an_order_the_next_beat_is_not_steady() {
    for order in [delete(2, &[1], BEGIN + 1), clear(2, BEGIN + 1)] {
        play(async {
            let mut gateway = Gateway::holding(HOLD);
            let mut peer = playing(&mut gateway, ACK_DELAY);
            peer.send(order.clone());
            gateway.commit_all();
            peer.go_on();
            peer.send(beats(3, &[beat(1, 1, BEGIN + 3)]));
            assert_eq!(submitted(&gateway), [3], "{order}");
        });
    }
}

#[test]
fn a_change_by_another_device_commits_held_beats() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        Peer::new(&gateway, USER, 0, Duration::ZERO).send(clear(1, BEGIN));
        assert_eq!(gateway.submit_queue().len(), 1, "the change goes first");
        gateway.commit_all();
        assert_eq!(submitted(&gateway), [2]);
    });
    play(async {
        // A request of its own client.
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        clear_by_request(&gateway, &peer);
        gateway.commit_all();
        assert_eq!(submitted(&gateway), [2]);
    });
}

#[test]
fn a_read_of_another_socket_commits_held_beats_first() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut holder = playing(&mut gateway, ACK_DELAY);
        let mut reader = Peer::new(&gateway, USER, 0, Duration::ZERO);
        holder.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        reader.send(get(1, &[1]));
        assert!(gateway.reads.asked().is_empty(), "it waits for the commit");
        let group = gateway.take(usize::MAX);
        assert_eq!(group.len(), 1);
        reader.go_on();
        assert!(gateway.reads.asked().is_empty());
        gateway.commit(group);
        reader.go_on();
        assert_eq!(gateway.reads.asked().len(), 1);
        assert_eq!(gateway.commit_held(USER).len(), 0, "nothing is held any more");
    });
}

#[test]
fn a_client_that_does_not_read_holds_nothing() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        peer.stuck = true;
        peer.go_on();
        assert_eq!(submitted(&gateway), [2]);
    });
}

#[test]
fn a_socket_that_ends_commits_its_held_beats() {
    let endings: [fn(&mut Gateway, &mut Peer); 2] = [|_, peer| peer.hurry(), |gateway, _| gateway.kick(USER)];
    for end in endings {
        play(async {
            let mut gateway = Gateway::holding(HOLD);
            let mut peer = playing(&mut gateway, ACK_DELAY);
            peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
            end(&mut gateway, &mut peer);
            peer.go_on();
            assert_eq!(submitted(&gateway), [2]);
        });
    }
}

#[test]
fn a_beat_that_is_not_known_to_be_steady_is_not_held() {
    play(async {
        // Its client has not asked for late acks.
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, Duration::ZERO);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        assert_eq!(submitted(&gateway), [2]);
    });
    play(async {
        // The beat before it is not committed.
        let gateway = Gateway::holding(HOLD);
        let mut peer = Peer::new(&gateway, USER, 0, ACK_DELAY);
        peer.send(beats(1, &[beat(1, 1, BEGIN)]));
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        assert_eq!(submitted(&gateway), [2]);
    });
    play(async {
        // The beat before it was refused.
        let mut gateway = Gateway::holding(HOLD);
        playing(&mut gateway, Duration::ZERO);
        let mut late = Peer::new(&gateway, USER, 0, ACK_DELAY);
        late.send(beats(1, &[beat(1, 2, BEGIN - 5)]));
        gateway.commit_all();
        late.send(beats(2, &[beat(1, 2, BEGIN + 2)]));
        assert_eq!(submitted(&gateway), [2]);
    });
    play(async {
        // Another device has changed something.
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        Peer::new(&gateway, USER, 0, Duration::ZERO).send(clear(1, BEGIN));
        gateway.commit_all();
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        assert_eq!(submitted(&gateway), [2]);
    });
    play(async {
        // So has a request of its own client, of which it is not told.
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        clear_by_request(&gateway, &peer);
        gateway.commit_all();
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        assert_eq!(submitted(&gateway), [2]);
    });
}

#[test]
fn a_hold_spans_no_more_than_a_slot() {
    play(async {
        let mut gateway = Gateway::holding(HOLD);
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN - 60_000)]));
        peer.send(beats(3, &[beat(1, 1, BEGIN + 1)]));
        assert_eq!(submitted(&gateway), [0_u64.wrapping_sub(60_000), 1]);
    });
}

/// Commits and acks of one player in an hour.
fn an_hour(hold: Duration) -> (usize, usize) {
    let (mut commits, mut said) = (0, 0);
    play(async {
        let mut gateway = Gateway::holding(hold);
        let mut peer = Peer::staying(&gateway, USER, 0, hold, Duration::from_hours(2));
        for seq in 1..=720 {
            peer.send(beats(seq, &[beat(1, 1, BEGIN + 5_000 * u64::from(seq - 1))]));
            for _ in 0..50 {
                pass(Duration::from_millis(100)).await;
                peer.go_on();
                let group = gateway.take(usize::MAX);
                commits += group.len();
                gateway.commit(group);
                said += acks(&peer.said()).len();
            }
        }
    });
    (commits, said)
}

#[test]
fn a_hold_of_15_s_saves_two_commits_of_three() {
    let figures = [0, 15, 30].map(|seconds| an_hour(Duration::from_secs(seconds)));
    assert_eq!(figures, [(720, 720), (240, 240), (120, 120)]);
}

#[test]
fn without_the_setting_no_beat_is_held() {
    play(async {
        let mut gateway = Gateway::new();
        let mut peer = playing(&mut gateway, ACK_DELAY);
        peer.send(beats(2, &[beat(1, 1, BEGIN + 2)]));
        assert_eq!(submitted(&gateway), [2]);
    });
}
