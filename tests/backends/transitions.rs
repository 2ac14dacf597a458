//! What the decider says becomes of records, one cause after the other.

use heartline::model::change::{Change, Outcome};
use heartline::model::forgetting::{ContentRow, UserRow};
use heartline::model::ids::UserId;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rule::Verdict;
use heartline::model::transition::Cause;

use crate::backends::plain_store::PlainStore;
use crate::backends::requests::*;

fn beat_at(oid: u64, at: u64) -> Change {
    beat_of(USER, content(oid), at)
}

/// As [`moves`].
fn told(store: &mut PlainStore, changes: &[Change]) -> Vec<(usize, Option<u64>, Option<u64>, Cause)> {
    moves(&store.commit(NOW, &Rewarding::none(), changes).transitions)
}

#[test]
fn a_beat_that_is_written_is_told_and_no_other() {
    let mut store = PlainStore::new(ROOMY);
    let other = beat_of(UserId(1), content(1), 1_000);
    let changes =
        [beat_at(1, 1_000), beat_at(1, 1_000), beat_at(1, 900), other, beat_at(1, 2_000), recording(true, 3_000)];
    let committed = store.commit(NOW, &Rewarding::none(), &changes);
    let expected = [
        (0, None, Some(1_000), Cause::Beat),
        (3, None, Some(1_000), Cause::Beat),
        (4, Some(1_000), Some(2_000), Cause::Beat),
    ];
    assert_eq!(moves(&committed.transitions), expected);
    let whose = committed.transitions.iter().map(|(_, told)| (told.user, told.content));
    assert_eq!(whose.collect::<Vec<_>>(), [(USER, content(1)), (UserId(1), content(1)), (USER, content(1))]);
    assert_eq!(told(&mut store, &[beat_at(1, 3_001), clear(1)]), [], "paused");
}

#[test]
fn a_beat_is_told_over_the_stored_record_though_a_clear_hides_it() {
    let mut store = PlainStore::new(ROOMY);
    assert_eq!(told(&mut store, &[beat_at(1, 1_000), clear(1_500)]), [(0, None, Some(1_000), Cause::Beat)]);
    let committed = store.commit(NOW, &Rewarding::none(), &[beat_at(1, 2_000)]);
    assert_eq!(moves(&committed.transitions), [(0, Some(1_000), Some(2_000), Cause::Beat)]);
    assert_eq!(committed.outcomes, [Outcome::from(Verdict::written(false))], "it goes by what reads return");
}

#[test]
fn a_delete_is_told_of_each_record_that_goes() {
    let mut store = PlainStore::new(ROOMY);
    told(&mut store, &[beat_at(1, 1_000), beat_at(2, 2_000), beat_at(3, 3_000)]);
    let gone = [(0, Some(1_000), None, Cause::Delete), (0, Some(2_000), None, Cause::Delete)];
    assert_eq!(told(&mut store, &[delete(&[1, 2, 3, 4, 1], 2_500)]), gone);
    assert_eq!(told(&mut store, &[delete(&[1, 2, 4], 2_600)]), [], "nothing is left of them");
}

#[test]
fn what_gives_way_at_the_cap_is_told_with_the_beat_that_it_gives_way_to() {
    let limits = Limits { records_per_user: 3, ..ROOMY };
    let mut store = PlainStore::new(limits);
    told(&mut store, &[beat_at(1, 1_000), beat_at(2, 2_000), beat_at(3, 3_000)]);
    let gives_way = [(0, Some(1_000), None, Cause::Cap), (0, None, Some(4_000), Cause::Beat)];
    assert_eq!(told(&mut store, &[beat_at(4, 4_000)]), gives_way);
    assert_eq!(told(&mut store, &[beat_at(5, 1_500)]), [], "it would have to go first itself");
    told(&mut store, &[delete(&[4], 4_500)]);
    assert_eq!(
        told(&mut store, &[beat_at(6, 5_000)]),
        [(0, None, Some(5_000), Cause::Beat)],
        "a tombstone is no record"
    );
    store.reopen(Limits { records_per_user: 2, ..limits });
    let two_give_way =
        [(0, Some(2_000), None, Cause::Cap), (0, Some(3_000), None, Cause::Cap), (0, None, Some(6_000), Cause::Beat)];
    assert_eq!(told(&mut store, &[beat_at(7, 6_000)]), two_give_way);
}

#[test]
fn an_erasure_is_told_of_each_record_that_goes() {
    let mut store = PlainStore::new(ROOMY);
    told(
        &mut store,
        &[beat_at(1, 1_000), beat_at(2, 2_000), beat_of(UserId(1), content(1), 1_000), delete(&[2], 2_000)],
    );
    let gone = [
        (0, None, Some(3_000), Cause::Beat),
        (1, Some(1_000), None, Cause::Erase),
        (1, Some(3_000), None, Cause::Erase),
        (2, None, Some(NOW + 1), Cause::Beat),
    ];
    assert_eq!(told(&mut store, &[beat_at(3, 3_000), erase(), beat_at(1, NOW + 1)]), gone);
}

#[test]
fn what_no_read_returns_goes_because_of_a_clear_or_of_its_age() {
    let mut store = PlainStore::new(ROOMY);
    told(&mut store, &[beat_at(1, 1_000)]);
    let row = || store.kept(USER).unwrap().1[&content(1)].clone();
    let cause = |watermark, horizon| {
        let mut row: ContentRow = row();
        row.take_dead(&UserRow { watermark, ..UserRow::default() }, horizon).map(|(_, cause)| cause)
    };
    assert_eq!(cause(999, 1_000), None);
    assert_eq!(cause(1_000, 1_000), Some(Cause::Clear));
    assert_eq!(cause(999, 1_001), Some(Cause::Expiry));
}
