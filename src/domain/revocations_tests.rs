//! Who is refused, for how long, and what becomes of the connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::*;
use crate::domain::devices::bell::Bell;
use crate::domain::devices::mailbox::Farewell;
use crate::domain::devices::presence::Registration;

const NOW: u64 = 1_795_150_000_000;
const USER: UserId = UserId(42);

/// A list in memory, which fails while it is told to.
#[derive(Clone, Default)]
struct Memory {
    saved: Arc<Mutex<Vec<Revocation>>>,
    broken: Arc<AtomicBool>,
}

impl RevocationList for Memory {
    fn load(&self) -> Result<Vec<Revocation>, ListError> {
        Ok(self.saved.lock().expect("no panic").clone())
    }

    fn save(&self, revocations: &[Revocation]) -> Result<(), ListError> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(ListError { place: "in memory".to_owned(), why: "is full".to_owned() });
        }
        *self.saved.lock().expect("no panic") = revocations.to_vec();
        Ok(())
    }
}

/// A list that nobody finds again.
pub fn in_memory(presence: Arc<Presence>) -> Revocations {
    Revocations::open(presence, Box::new(Memory::default()), None).expect("an empty list")
}

struct Fixture {
    memory: Memory,
    presence: Arc<Presence>,
    revocations: Revocations,
}

impl Fixture {
    fn new(token_life_max: Option<Duration>) -> Self {
        Self::over(Memory::default(), token_life_max)
    }

    fn over(memory: Memory, token_life_max: Option<Duration>) -> Self {
        let presence = Presence::new(8);
        let list = Box::new(memory.clone());
        let revocations = Revocations::open(presence.clone(), list, token_life_max).expect("a list");
        Fixture { memory, presence, revocations }
    }

    fn connected(&self, user: UserId, token: TokenMark) -> Registration {
        self.presence.register(user, token, Bell::Own(Arc::default()))
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
    registration.mailbox().take(Instant::now()).farewell == Some(Farewell::Kicked)
}

#[test]
fn what_was_issued_up_to_now_is_refused_and_so_is_what_does_not_say() {
    let fixture = Fixture::new(None);
    assert!(!fixture.refuses(&TokenMark::default(), NOW));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(fixture.refuses(&issued(0), NOW) && fixture.refuses(&issued(NOW), NOW));
    assert!(fixture.refuses(&TokenMark::default(), NOW) && fixture.refuses(&named("a"), NOW));
    assert!(!fixture.refuses(&issued(NOW + 1), NOW));
    assert!(!fixture.revocations.refuses(UserId(43), &issued(0), NOW));
}

#[test]
fn a_token_is_refused_by_its_id_whosever_it_is() {
    let fixture = Fixture::new(None);
    fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect("a change");
    assert!(fixture.refuses(&named("a"), NOW) && fixture.revocations.refuses(UserId(43), &named("a"), NOW));
    assert!(!fixture.refuses(&named("b"), NOW) && !fixture.refuses(&issued(0), NOW));
}

#[test]
fn it_is_forgotten_when_the_tokens_must_have_ended() {
    let fixture = Fixture::new(Some(Duration::from_secs(60)));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(fixture.refuses(&issued(NOW), NOW + 59_999));
    assert!(!fixture.refuses(&issued(NOW), NOW + 60_000));
    fixture.revocations.revoke(Revoked::Token("a".into()), Some(NOW + 90_000), NOW + 60_000).expect("a change");
    assert!(fixture.refuses(&named("a"), NOW + 89_999) && !fixture.refuses(&named("a"), NOW + 90_000));
    assert_eq!(fixture.memory.load().expect("a list").len(), 1, "the outlived one is not kept");
    let unlimited = Fixture::new(None);
    unlimited.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    assert!(unlimited.refuses(&issued(NOW), u64::MAX));
}

#[test]
fn it_is_there_after_a_restart_until_it_is_taken_back() {
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
fn what_cannot_be_saved_does_not_hold() {
    let fixture = Fixture::new(None);
    let open = fixture.connected(USER, issued(NOW));
    fixture.memory.broken.store(true, Ordering::Relaxed);
    let unchanged = fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect_err("an error");
    assert!(matches!(unchanged, Unchanged::Unsaved(_)), "{unchanged}");
    assert!(!fixture.refuses(&issued(0), NOW) && !kicked(&open));
}

#[test]
fn the_connections_it_concerns_are_closed_and_no_others() {
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
fn a_renewed_connection_goes_by_its_new_token() {
    let fixture = Fixture::new(None);
    let open = fixture.connected(USER, named("old"));
    open.mailbox().renewed(named("new"));
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
fn a_second_revocation_goes_on_from_the_first_whatever_the_clock_says() {
    let fixture = Fixture::new(Some(Duration::from_secs(60)));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("a change");
    fixture.revocations.revoke(Revoked::User(USER), None, NOW - 30_000).expect("a change");
    assert!(fixture.refuses(&issued(NOW), NOW + 59_999) && !fixture.refuses(&issued(NOW), NOW + 60_000));
    fixture.revocations.revoke(Revoked::User(USER), None, NOW + 30_000).expect("a change");
    assert!(fixture.refuses(&issued(NOW + 30_000), NOW + 60_000));
}

#[test]
fn a_full_list_takes_no_more_and_forgets_nobody() {
    let fixture = Fixture::new(None);
    let revocation = |mid| Revocation { what: Revoked::User(UserId(mid)), at_ms: NOW, until_ms: Some(NOW + 10) };
    *fixture.memory.saved.lock().expect("no panic") = (0..REVOCATIONS_MAX as u64).map(revocation).collect();
    let fixture = Fixture::over(fixture.memory, None);
    let full = fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW).expect_err("an error");
    assert!(matches!(full, Unchanged::Full), "{full}");
    fixture.revocations.revoke(Revoked::User(USER), None, NOW).expect("one that is there already");
    fixture.revocations.revoke(Revoked::Token("a".into()), None, NOW + 10).expect("room, since the others ended");
}
