//! The promises of [`Views`], for all of its backends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::day::Day;
use heartline::model::view::{View, ViewDays, Viewed};
use heartline::storage::views::{Answer, Views};

use crate::backends::requests::{USER, content, wait};

pub trait ViewsBackend: Sized {
    fn empty() -> Self;
    fn views(&self) -> Arc<dyn Views>;
    /// As after the end of the process.
    fn reopened(self) -> Self;
    /// Waits until all that was counted is in the days.
    fn flush(&self);
}

fn day(number: u16) -> Day {
    Day::of_number(20_000 + number)
}

fn of_session(user: UserId, oid: u64, session: u64, on: u16) -> View {
    View { user, content: content(oid), session: Some(SessionId(session)), day: day(on) }
}

fn without_session(oid: u64, on: u16) -> View {
    View { user: USER, content: content(oid), session: None, day: day(on) }
}

fn answered<T>(answer: Answer<T>) -> T {
    wait(answer).unwrap_or_else(|error| panic!("{error}"))
}

fn count(views: &Arc<dyn Views>, view: View) -> Viewed {
    answered(views.count(view))
}

pub fn totals(views: &Arc<dyn Views>, contents: &[Content]) -> Vec<Option<u64>> {
    answered(views.totals(contents.to_vec()))
}

fn totals_of(views: &Arc<dyn Views>, oids: &[u64]) -> Vec<Option<u64>> {
    totals(views, &oids.iter().map(|oid| content(*oid)).collect::<Vec<_>>())
}

/// Of a hundred days, those with views.
pub fn days(views: &Arc<dyn Views>, content: Content) -> Vec<(Day, u64)> {
    answered(views.days(content, day(0), day(100))).days
}

fn days_of(views: &Arc<dyn Views>, oid: u64) -> ViewDays {
    answered(views.days(content(oid), day(0), day(100)))
}

fn first(total: u64) -> Viewed {
    Viewed { counted: true, total: Some(total) }
}

fn again(total: u64) -> Viewed {
    Viewed { counted: false, total: Some(total) }
}

pub fn each_view_is_counted_in_its_content_and_day<B: ViewsBackend>() {
    let mut backend = B::empty();
    let views = backend.views();
    assert_eq!(totals_of(&views, &[1, 2]), [Some(0), Some(0)]);
    assert_eq!(count(&views, without_session(1, 1)), first(1));
    assert_eq!(count(&views, without_session(1, 1)), first(2), "without a session each request counts");
    assert_eq!(count(&views, without_session(1, 2)), first(3));
    assert_eq!(count(&views, without_session(2, 2)), first(1));
    let other_kind = Content { kind: 2, oid: 1 };
    assert_eq!(count(&views, View { content: other_kind, ..without_session(1, 1) }), first(1));
    drop(views);
    for _ in 0..2 {
        backend.flush();
        let views = backend.views();
        assert_eq!(totals_of(&views, &[2, 1, 3, 1]), [Some(1), Some(3), Some(0), Some(3)], "in the order asked");
        assert_eq!(days_of(&views, 1), ViewDays { total: 3, days: vec![(day(1), 2), (day(2), 1)] });
        assert_eq!(days_of(&views, 3), ViewDays::default());
        let some = answered(views.days(content(1), day(2), day(2)));
        assert_eq!(some, ViewDays { total: 3, days: vec![(day(2), 1)] }, "the total is of all time");
        drop(views);
        backend = backend.reopened();
    }
}

pub fn a_session_counts_once_in_two_days<B: ViewsBackend>() {
    let mut backend = B::empty();
    let views = backend.views();
    assert_eq!(count(&views, of_session(USER, 1, 7, 1)), first(1));
    assert_eq!(count(&views, of_session(USER, 1, 7, 1)), again(1));
    drop(views);
    backend = backend.reopened();
    let views = backend.views();
    assert_eq!(count(&views, of_session(USER, 1, 7, 2)), again(1), "it was counted yesterday");
    assert_eq!(count(&views, of_session(USER, 1, 7, 3)), first(2), "and not since");
    assert_eq!(count(&views, of_session(USER, 1, 8, 3)), first(3), "another session");
    assert_eq!(count(&views, of_session(UserId(USER.0 + 1), 1, 7, 3)), first(4), "another user");
    assert_eq!(count(&views, of_session(USER, 2, 7, 3)), first(1), "another content");
    backend.flush();
    assert_eq!(days_of(&views, 1).days, [(day(1), 1), (day(3), 3)]);
}

/// Around midnight the later one of two requests may have the earlier day, in one batch with the other or after it.
pub fn a_session_counts_once_around_midnight<B: ViewsBackend>() {
    let mut backend = B::empty();
    let views = backend.views();
    assert_eq!(count(&views, of_session(USER, 1, 7, 2)), first(1));
    assert_eq!(count(&views, of_session(USER, 1, 7, 1)), again(1), "with the day before");
    drop(views);
    backend = backend.reopened();
    let views = backend.views();
    assert_eq!(count(&views, of_session(USER, 1, 7, 1)), again(1));
    for session in 100..150 {
        // Handed in together, in either order, they mostly share a batch.
        let on = if session % 2 == 0 { [1, 2] } else { [2, 1] };
        let both = on.map(|on| views.count(of_session(USER, 2, session, on)));
        let counted = both.map(|answer| answered(answer).counted);
        assert_eq!(counted.into_iter().filter(|counted| *counted).count(), 1, "session {session}: {counted:?}");
    }
    assert_eq!(totals_of(&views, &[1, 2]), [Some(1), Some(50)]);
}

pub fn a_deleted_content_begins_anew<B: ViewsBackend>() {
    let mut backend = B::empty();
    let views = backend.views();
    for on in [1, 2, 40] {
        count(&views, without_session(1, on));
        count(&views, without_session(11, on));
    }
    count(&views, of_session(USER, 1, 7, 40));
    backend.flush();
    count(&views, without_session(1, 40));
    answered(views.delete(content(1)));
    assert_eq!(totals_of(&views, &[1, 11]), [Some(0), Some(3)]);
    assert_eq!(count(&views, without_session(1, 40)), first(1));
    assert_eq!(count(&views, of_session(USER, 1, 7, 41)), again(1), "the session stays marked");
    answered(views.delete(content(2)));
    drop(views);
    for _ in 0..2 {
        backend.flush();
        let views = backend.views();
        assert_eq!(days_of(&views, 1), ViewDays { total: 1, days: vec![(day(40), 1)] });
        assert_eq!(days_of(&views, 11).days, [(day(1), 1), (day(2), 1), (day(40), 1)]);
        drop(views);
        backend = backend.reopened();
    }
}

pub fn a_forgotten_user_leaves_the_numbers<B: ViewsBackend>() {
    let backend = B::empty();
    let views = backend.views();
    let other = UserId(USER.0 + 1);
    for user in [USER, other] {
        count(&views, of_session(user, 1, 7, 1));
        count(&views, of_session(user, 2, 7, 2));
    }
    answered(views.forget(USER, day(2)));
    assert_eq!(totals_of(&views, &[1, 2]), [Some(2), Some(2)]);
    assert_eq!(count(&views, of_session(other, 1, 7, 2)), again(2));
    assert_eq!(count(&views, of_session(USER, 1, 7, 2)), first(3), "nothing is known of the user");
    answered(views.forget(UserId(5), day(2)));
}

pub fn views_at_one_time_are_all_counted<B: ViewsBackend>() {
    const THREADS: u64 = 8;
    const EACH: u64 = 200;
    let backend = B::empty();
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let views = backend.views();
            thread::spawn(move || {
                let mut shown = BTreeMap::new();
                for view in 0..EACH {
                    // Sessions of which each is sent by two threads.
                    let session = 1 + number / 2 * EACH + view;
                    let viewed = count(&views, of_session(USER, view % 3, session, 1));
                    *shown.entry(viewed.counted).or_insert(0) += 1;
                }
                shown
            })
        })
        .collect();
    let shown: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let counted: u64 = shown.iter().filter_map(|shown| shown.get(&true)).sum();
    assert_eq!(counted, THREADS / 2 * EACH);
    let views = backend.views();
    let all: u64 = totals_of(&views, &[0, 1, 2]).into_iter().flatten().sum();
    assert_eq!(all, counted);
    backend.flush();
    let by_day: u64 = (0..3).flat_map(|oid| days_of(&views, oid).days).map(|(_, views)| views).sum();
    assert_eq!(by_day, counted);
}
