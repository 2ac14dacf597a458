//! What every list of revocations promises.

use std::time::{Duration, Instant};

use heartline::model::ids::UserId;
use heartline::model::revocation::{Revocation, Revoked};
use heartline::storage::revocation_list::{ListError, REVOCATIONS_MAX, RevocationList};

const NOW: u64 = 1_795_150_000_000;
const PATIENCE: Duration = Duration::from_secs(120);

fn user(mid: u64) -> Revoked {
    Revoked::User(UserId(mid))
}

fn token(id: &str) -> Revoked {
    Revoked::Token(id.into())
}

/// Its answer. A full list is read in steps, and all of them have the time of one call: on a busy machine it is not enough.
fn answered<T>(call: impl Fn() -> Result<T, ListError>) -> Result<T, ListError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match call() {
            Err(broken @ ListError::Broken { .. }) if Instant::now() < until => eprintln!("{broken}"),
            answer => return answer,
        }
    }
}

fn all(list: &dyn RevocationList) -> Vec<Revocation> {
    let (_, mut all) = answered(|| list.load(None)).unwrap().expect("no edition is known");
    all.sort_by_key(|revocation| format!("{:?}", revocation.what));
    all
}

/// `open` opens the same list, which is empty, again and again.
pub fn what_is_added_is_there_until_it_is_removed(open: impl Fn() -> Box<dyn RevocationList>) {
    let list = open();
    assert_eq!(all(&*list), []);
    let forever = Revocation { what: user(u64::MAX), at_ms: NOW, until_ms: None };
    let odd = Revocation { what: token("edition \"x\"\n"), at_ms: NOW + 1, until_ms: Some(u64::MAX) };
    for revocation in [&forever, &odd, &odd] {
        assert_eq!(list.add(revocation, NOW).unwrap(), *revocation);
    }
    assert_eq!(all(&*open()), [odd.clone(), forever.clone()]);
    let (edition, _) = list.load(None).unwrap().unwrap();
    assert!(list.load(Some(edition)).unwrap().is_none(), "nothing has changed");
    for _ in 0..2 {
        list.remove(&odd.what, odd.at_ms).unwrap();
        assert_eq!(all(&*open()), std::slice::from_ref(&forever));
    }
    let (newer, changed) = list.load(Some(edition)).unwrap().expect("it has changed");
    assert!(newer > edition && changed == [forever]);
}

/// Of the same.
pub fn of_one_user_the_later_revocation_stands(open: impl Fn() -> Box<dyn RevocationList>) {
    let list = open();
    let at = |at_ms, until_ms| Revocation { what: user(1), at_ms, until_ms };
    assert_eq!(list.add(&at(99, Some(1_000)), 0).unwrap(), at(99, Some(1_000)));
    assert_eq!(list.add(&at(9, None), 0).unwrap(), at(99, Some(1_000)), "another has made a later one");
    assert_eq!(list.add(&at(99, None), 0).unwrap(), at(99, None));
    assert_eq!(list.add(&at(100, Some(2_000)), 0).unwrap(), at(100, Some(2_000)));
    assert_eq!(all(&*open()), [at(100, Some(2_000))]);
}

/// Of the same.
pub fn a_removal_that_is_late_leaves_a_later_revocation(open: impl Fn() -> Box<dyn RevocationList>) {
    let list = open();
    let later = Revocation { what: user(1), at_ms: NOW + 1, until_ms: None };
    list.add(&later, NOW).unwrap();
    list.remove(&user(1), NOW).unwrap();
    assert_eq!(all(&*open()), std::slice::from_ref(&later));
    list.remove(&user(1), NOW + 1).unwrap();
    assert_eq!(all(&*open()), []);
}

/// Of the same. `fill` makes it of so many users, from 0 on, all until the moment that is given.
pub fn a_full_list_takes_no_more_until_some_have_expired(list: &dyn RevocationList, fill: impl FnOnce(usize, u64)) {
    fill(REVOCATIONS_MAX, NOW + 10);
    let add = |revocation, now_ms| answered(|| list.add(revocation, now_ms));
    let more = Revocation { what: token("a"), at_ms: NOW, until_ms: None };
    assert!(matches!(add(&more, NOW), Err(ListError::Full)));
    let again = Revocation { what: user(0), at_ms: NOW + 1, until_ms: None };
    assert_eq!(add(&again, NOW).unwrap(), again, "one that is there already");
    assert_eq!(add(&more, NOW + 10).unwrap(), more);
    let kept: Vec<_> = all(list).into_iter().filter(|revocation| revocation.holds(NOW + 10)).collect();
    assert_eq!(kept, [more, again]);
}
