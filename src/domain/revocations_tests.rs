//! Which tokens are refused, for how long, and which connections are closed.

use std::future::ready;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::time::{advance, timeout};

use super::*;
use crate::devices::inbox::CloseRequest;
use crate::devices::presence::Registration;
use crate::devices::ready_list::Notifier;
use crate::fixtures::MemoryRevocations;
use model::visitor::Visitor;
use storage::device_channel::{ChannelAway, UserChange};
use storage::revocation_list::REVOCATIONS_MAX;

const NOW: u64 = 1_795_150_000_000;
const USER: UserId = UserId(42);

/// A channel that announces changes to another [`Revocations`].
#[derive(Default)]
struct Neighbour(Mutex<Option<Arc<Revocations>>>);

impl DeviceChannel for Neighbour {
    fn follow(&self, _user: UserId) {}

    fn unfollow(&self, _user: UserId) {}

    fn publish(&self, _user: UserId, _change: UserChange) {}

    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        assert_eq!(announcement, Announcement::Revocations);
        let other = self.0.lock().clone();
        if let Some(other) = other {
            other.read_again();
        }
        Box::pin(ready(Ok(())))
    }
}

struct Fixture {
    memory: MemoryRevocations,
    presence: Arc<Presence>,
    channel: Arc<Neighbour>,
    revocations: Arc<Revocations>,
}

impl Fixture {
    fn new(token_life_max: Option<Duration>) -> Self {
        Self::over(MemoryRevocations::default(), token_life_max)
    }

    fn over(memory: MemoryRevocations, token_life_max: Option<Duration>) -> Self {
        let presence = Presence::new(8);
        let (list, channel) = (Box::new(memory.clone()), Arc::new(Neighbour::default()));
        let revocations = Revocations::open(presence.clone(), list, channel.clone(), token_life_max).expect("a list");
        Fixture { memory, presence, channel, revocations: Arc::new(revocations) }
    }

    fn connected(&self, user: UserId, token: TokenMark) -> Registration {
        self.presence.register(user, token, Visitor::default(), Notifier::Own(Arc::default()))
    }

    fn refuses(&self, token: &TokenMark, now_ms: u64) -> bool {
        self.revocations.refuses(USER, token, now_ms)
    }
}

fn issued(issued_ms: u64) -> TokenMark {
    TokenMark { issued_ms: Some(issued_ms), id: None }
}

fn named(id: &str) -> TokenMark {
    TokenMark { issued_ms: None, id: Some(id.into()) }
}

fn kicked(registration: &Registration) -> bool {
    registration.inbox().take(Instant::now()).close_request == Some(CloseRequest::Kicked)
}

#[test]
fn a_revoked_user_is_refused_with_old_tokens_and_tokens_without_iat() {
    let fixture = Fixture::new(None);
    assert!(!fixture.refuses(&TokenMark::default(), NOW));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(fixture.refuses(&issued(0), NOW) && fixture.refuses(&issued(NOW), NOW));
    assert!(fixture.refuses(&TokenMark::default(), NOW) && fixture.refuses(&named("a"), NOW));
    assert!(!fixture.refuses(&issued(NOW + 1), NOW));
    assert!(!fixture.revocations.refuses(UserId(43), &issued(0), NOW));
}

#[test]
fn a_token_is_refused_by_its_id_for_any_user() {
    let fixture = Fixture::new(None);
    fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect("a change");
    assert!(fixture.refuses(&named("a"), NOW) && fixture.revocations.refuses(UserId(43), &named("a"), NOW));
    assert!(!fixture.refuses(&named("b"), NOW) && !fixture.refuses(&issued(0), NOW));
}

#[test]
fn a_revocation_ends_when_all_tokens_it_covers_have_expired() {
    let fixture = Fixture::new(Some(Duration::from_secs(60)));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(fixture.refuses(&issued(NOW), NOW + 59_999));
    assert!(!fixture.refuses(&issued(NOW), NOW + 60_000));
    fixture.revocations.revoke(Revoked::Token("a".into()), Some(NOW + 90_000), NOW + 60_000).expect("a change");
    assert!(fixture.refuses(&named("a"), NOW + 89_999) && !fixture.refuses(&named("a"), NOW + 90_000));
    assert_eq!(fixture.memory.count(), 1, "the expired one is not kept");
    let unlimited = Fixture::new(None);
    unlimited.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(unlimited.refuses(&issued(NOW), u64::MAX));
}

#[test]
fn a_revocation_survives_a_restart_until_it_is_taken_back() {
    let fixture = Fixture::new(None);
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    let fixture = Fixture::over(fixture.memory, None);
    assert!(fixture.refuses(&issued(NOW), NOW + 1));
    fixture.revocations.take_back(&Revoked::User(USER), NOW).expect("a change");
    fixture.revocations.take_back(&Revoked::User(USER), NOW).expect("nothing to do is done");
    assert!(!fixture.refuses(&issued(NOW), NOW + 1));
    assert!(!Fixture::over(fixture.memory, None).refuses(&issued(NOW), NOW + 1));
}

#[test]
fn a_revocation_made_after_it_was_asked_to_take_one_back_stays() {
    let fixture = Fixture::new(None);
    fixture.revocations.revoke(Revoked::User(USER), None, NOW + 1).expect("a change");
    fixture.revocations.take_back_upto(&Revoked::User(USER), NOW).expect("nothing to do is done");
    assert!(fixture.refuses(&issued(NOW), NOW + 1));
    assert!(Fixture::over(fixture.memory.clone(), None).refuses(&issued(NOW), NOW + 1));
    // Its moment may be ahead of this clock: that of the token in use, or of another gateway.
    fixture.revocations.take_back(&Revoked::User(USER), NOW).expect("a change");
    assert!(!fixture.refuses(&issued(NOW), NOW + 1));
}

#[test]
fn a_revocation_that_cannot_be_saved_does_not_apply() {
    let fixture = Fixture::new(None);
    let open = fixture.connected(USER, issued(NOW));
    fixture.memory.broken.store(true, Ordering::Relaxed);
    let unchanged = fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect_err("an error");
    assert!(matches!(unchanged, Unchanged::Broken { .. }), "{unchanged}");
    assert!(!fixture.refuses(&issued(0), NOW) && !kicked(&open));
}

#[test]
fn a_revocation_closes_the_connections_it_covers_and_no_others() {
    let fixture = Fixture::new(None);
    let own = [issued(NOW - 1), TokenMark::default()].map(|token| fixture.connected(USER, token));
    let other = fixture.connected(UserId(43), named("a"));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(own.iter().all(kicked) && !kicked(&other));
    let newer = fixture.connected(USER, issued(NOW + 1));
    fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect("a change");
    assert!(kicked(&other) && !kicked(&newer));
}

#[test]
fn a_renewed_connection_is_closed_only_with_its_new_token() {
    let fixture = Fixture::new(None);
    let open = fixture.connected(USER, named("old"));
    open.inbox().renewed(named("new"));
    fixture.revocations.revoke(Revoked::Token("old".into()), None, NOW).expect("a change");
    assert!(!kicked(&open));
    fixture.revocations.revoke(Revoked::Token("new".into()), None, NOW).expect("a change");
    assert!(kicked(&open));
}

#[test]
fn the_token_in_use_is_refused_though_its_issuers_clock_is_ahead() {
    let fixture = Fixture::new(None);
    let open = fixture.connected(USER, issued(NOW + 3_000));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(kicked(&open) && fixture.refuses(&issued(NOW + 3_000), NOW));
}

#[test]
fn a_second_revocation_never_shortens_the_first_one() {
    let fixture = Fixture::new(Some(Duration::from_secs(60)));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    fixture.revocations.revoke(Revoked::User(USER), None, NOW - 30_000).expect("a change");
    assert!(fixture.refuses(&issued(NOW), NOW + 59_999) && !fixture.refuses(&issued(NOW), NOW + 60_000));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW + 30_000).expect("a change");
    assert!(fixture.refuses(&issued(NOW + 30_000), NOW + 60_000));
}

#[test]
fn a_full_list_refuses_new_revocations_and_keeps_the_existing_ones() {
    let fixture = Fixture::new(None);
    let revocation = |mid| Revocation { what: Revoked::User(UserId(mid)), at_ms: NOW, until_ms: Some(NOW + 10) };
    fixture.memory.kept.lock().1 = (0..REVOCATIONS_MAX as u64).map(revocation).collect();
    let fixture = Fixture::over(fixture.memory, None);
    let full = fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect_err("an error");
    assert!(matches!(full, Unchanged::Full), "{full}");
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("one that is there already");
    fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW + 10).expect("room, since the others ended");
}

/// Two gateways over one list.
fn two() -> (Fixture, Fixture) {
    let one = Fixture::new(None);
    let two = Fixture::over(one.memory.clone(), None);
    (one, two)
}

async fn refused_in_time(fixture: &Fixture, token: TokenMark, refused: bool) {
    let until = async {
        while fixture.refuses(&token, NOW) != refused {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(READ_INTERVAL / 2, until).await.expect("in time");
}

#[tokio::test(start_paused = true)]
async fn a_revocation_announced_by_one_gateway_applies_on_the_other() {
    let (one, two) = two();
    *one.channel.0.lock() = Some(two.revocations.clone());
    tokio::spawn(two.revocations.clone().keep_up());
    let (open, newer) = (two.connected(USER, issued(NOW)), two.connected(USER, issued(NOW + 1)));
    one.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    refused_in_time(&two, issued(NOW), true).await;
    assert!(kicked(&open) && !kicked(&newer));
    one.revocations.take_back(&Revoked::User(USER), NOW).expect("a change");
    refused_in_time(&two, issued(NOW), false).await;
}

#[tokio::test(start_paused = true)]
async fn a_revocation_whose_announcement_is_missed_is_read_within_the_interval() {
    let (one, two) = two();
    tokio::spawn(two.revocations.clone().keep_up());
    one.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect("a change");
    sleep(Duration::from_millis(1)).await;
    assert!(!two.refuses(&named("a"), NOW), "the gateway has not been told");
    advance(READ_INTERVAL).await;
    refused_in_time(&two, named("a"), true).await;
}

#[tokio::test(start_paused = true)]
async fn while_the_list_cannot_be_read_what_is_known_holds() {
    let (one, two) = two();
    one.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect("a change");
    two.revocations.revoke(Revoked::Token("b".into()), None, NOW).expect("a change");
    assert!(two.refuses(&named("a"), NOW), "whoever changes it has read it before");
    one.memory.broken.store(true, Ordering::Relaxed);
    tokio::spawn(two.revocations.clone().keep_up());
    advance(READ_INTERVAL * 3).await;
    sleep(READ_INTERVAL).await;
    assert!(two.refuses(&named("a"), NOW) && two.refuses(&named("b"), NOW));
    one.memory.broken.store(false, Ordering::Relaxed);
    one.revocations.revoke(Revoked::Token("c".into()), None, NOW).expect("a change");
    refused_in_time(&two, named("c"), true).await;
}

#[test]
fn neither_gateway_loses_what_the_other_has_revoked() {
    let (one, two) = two();
    one.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect("a change");
    two.revocations.revoke(Revoked::Token("b".into()), None, NOW).expect("a change");
    one.revocations.take_back(&Revoked::Token("b".into()), NOW).expect("a change");
    let third = Fixture::over(one.memory, None);
    assert!(third.refuses(&named("a"), NOW) && !third.refuses(&named("b"), NOW));
}
