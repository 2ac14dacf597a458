//! The live sessions, each with its content.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::change::{LiveChange, Played};
use super::contents::Contents;
use super::index::Index;
use super::shares::Shares;
use super::wheel::Wheel;
use crate::ids::{Content, SessionId, UserId};
use crate::visitor::Visitor;

/// Live sessions of one user that are counted. One more ends the one that was heard least recently.
pub const SESSIONS_PER_USER: usize = 32;
pub const NONE: u32 = u32::MAX;

/// A table of sessions, those of a user in a list of their own, and a wheel for when they run out.
///
/// The wheel holds each session once. It is not touched by a beat that only goes on: what comes out is compared with
/// the session's newest beat, and put back if it is still live.
pub struct Sessions {
    timeout: u64,
    /// At a time; another one is not counted.
    most: usize,
    /// The first session of each user.
    users: Index,
    /// The hash of users, keyed, since the application chooses their ids. Faster than that of the standard library.
    hasher: RandomState,
    table: Vec<Session>,
    free: Vec<u32>,
    wheel: Wheel,
    due: Vec<u32>,
    shares: Shares,
}

struct Session {
    user: UserId,
    id: SessionId,
    /// The time of its newest beat.
    at: u64,
    /// `NONE`: it has ended.
    content: u32,
    /// Another session of the user.
    next: u32,
    /// The client of its newest beat.
    visitor: Visitor,
}

/// The effect of a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It goes on as before, or the beat is too old.
    Same,
    /// The session became live, or changed content.
    Visit,
    /// There are too many sessions.
    Full,
}

impl Sessions {
    /// `timeout`: milliseconds.
    pub fn new(timeout: u64, most: usize) -> Self {
        Sessions {
            timeout,
            most: most.min(Wheel::ITEMS_MAX),
            users: Index::default(),
            hasher: RandomState::default(),
            table: Vec::new(),
            free: Vec::new(),
            wheel: Wheel::new(),
            due: Vec::new(),
            shares: Shares::default(),
        }
    }

    pub fn count(&self) -> usize {
        self.table.len() - self.free.len()
    }

    pub fn users(&self) -> usize {
        self.users.len()
    }

    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Where the sessions of these beats are now, for `play`; `NONE`: unknown.
    ///
    /// With many sessions, most of the cost of a beat is waiting for memory: first for the index, then for the session.
    /// Each loop reads slots that do not depend on each other, so the processor waits for several at a time.
    pub fn look_up(&self, changes: &[LiveChange], indexes: &mut [u32]) {
        for (change, index) in changes.iter().zip(&mut *indexes) {
            let LiveChange::Playing(played) = change else { continue };
            *index = self.users.peek(self.tag(played.user));
        }
        for (change, index) in changes.iter().zip(indexes) {
            let LiveChange::Playing(played) = change else { continue };
            if !self.is_at(*index, played.user, played.session) {
                *index = self.find(played.user, played.session).unwrap_or(NONE);
            }
        }
    }

    /// `index`: where the session was when it was looked up. Changes since then may have ended it.
    pub fn play(&mut self, played: Played, index: u32, now: u64, contents: &mut Contents) -> Effect {
        let Played { user, session: id, content, at, visitor } = played;
        if at.saturating_add(self.timeout) <= now {
            return Effect::Same;
        }
        let found = if self.is_at(index, user, id) { Some(index) } else { self.find(user, id) };
        if let Some(found) = found {
            let session = &mut self.table[found as usize];
            if at < session.at {
                return Effect::Same;
            }
            session.at = at;
            let before = std::mem::replace(&mut session.visitor, visitor);
            if before != visitor {
                self.shares.leave(before);
                self.shares.join(visitor);
            }
            if contents.content(session.content) == content {
                return Effect::Same;
            }
            self.leave(found, contents);
            self.join(found, content, contents);
            return Effect::Visit;
        }
        if self.list(user).count() == SESSIONS_PER_USER {
            let oldest = self.list(user).min_by_key(|session| self.table[*session as usize].at);
            oldest.into_iter().for_each(|oldest| self.end(oldest, contents));
        } else if self.count() == self.most {
            return Effect::Full;
        }
        let first = self.first(user);
        let new = self.add(Session { user, id, at, content: NONE, next: first.unwrap_or(NONE), visitor });
        match first {
            Some(first) => self.users.replace(self.tag(user), first, new),
            None => self.users.insert(self.tag(user), new),
        }
        self.wheel.put(new, at + self.timeout);
        self.shares.join(visitor);
        self.join(new, content, contents);
        Effect::Visit
    }

    /// An `ended` beat was written. One from before the session's newest beat ends nothing.
    pub fn finish(&mut self, user: UserId, id: SessionId, at: u64, contents: &mut Contents) {
        if let Some(found) = self.find(user, id).filter(|found| self.table[*found as usize].at <= at) {
            self.end(found, contents);
        }
    }

    /// Ends all sessions of the user.
    pub fn dismiss(&mut self, user: UserId, contents: &mut Contents) {
        while let Some(first) = self.first(user) {
            self.end(first, contents);
        }
    }

    /// Ends what has run out.
    pub fn run_out(&mut self, now: u64, contents: &mut Contents) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.turn(now, &mut due);
        for session in due.drain(..) {
            let until = self.table[session as usize].at + self.timeout;
            // It is in no slot, and to be ended it must be in one.
            self.wheel.put(session, until);
            if until <= now {
                self.end(session, contents);
            }
        }
        self.due = due;
    }

    fn is_at(&self, index: u32, user: UserId, id: SessionId) -> bool {
        let session = self.table.get(index as usize);
        session.is_some_and(|session| session.user == user && session.id == id && session.content != NONE)
    }

    fn find(&self, user: UserId, id: SessionId) -> Option<u32> {
        self.list(user).find(|session| self.table[*session as usize].id == id)
    }

    fn list(&self, user: UserId) -> impl Iterator<Item = u32> {
        let known = |session: u32| (session != NONE).then_some(session);
        std::iter::successors(self.first(user), move |session| known(self.table[*session as usize].next))
    }

    fn first(&self, user: UserId) -> Option<u32> {
        self.users.of(self.tag(user)).find(|first| self.table[*first as usize].user == user)
    }

    fn tag(&self, user: UserId) -> u32 {
        self.hasher.hash_one(user) as u32
    }

    fn join(&mut self, session: u32, content: Content, contents: &mut Contents) {
        let number = contents.number(content);
        let alone = self.is_alone_in(session, number);
        contents.public_users += u32::from(self.is_alone_in_public(session, number, contents));
        self.table[session as usize].content = number;
        contents.join(number, alone);
    }

    fn leave(&mut self, session: u32, contents: &mut Contents) {
        let number = self.table[session as usize].content;
        contents.public_users -= u32::from(self.is_alone_in_public(session, number, contents));
        contents.leave(number, self.is_alone_in(session, number));
    }

    /// Whether no other session of its user is in that content.
    fn is_alone_in(&self, session: u32, number: u32) -> bool {
        let mut others = self.list(self.table[session as usize].user).filter(|other| *other != session);
        others.all(|other| self.table[other as usize].content != number)
    }

    /// Whether that content is of a public kind, and no other session of the user is in one.
    fn is_alone_in_public(&self, session: u32, number: u32, contents: &Contents) -> bool {
        let mut others = self.list(self.table[session as usize].user).filter(|other| *other != session);
        contents.is_public(number) && others.all(|other| !contents.is_public(self.table[other as usize].content))
    }

    fn add(&mut self, session: Session) -> u32 {
        if let Some(free) = self.free.pop() {
            self.table[free as usize] = session;
            return free;
        }
        if self.table.len() == self.table.capacity() {
            // By a quarter: doubling would take twice the memory just after it.
            let more = (self.table.len() / 4).max(1024);
            self.table.reserve_exact(more);
            self.wheel.grow(self.table.capacity());
        }
        self.table.push(session);
        (self.table.len() - 1) as u32
    }

    fn end(&mut self, ended: u32, contents: &mut Contents) {
        self.leave(ended, contents);
        self.wheel.take(ended);
        let Session { user, next, visitor, .. } = self.table[ended as usize];
        self.shares.leave(visitor);
        let before = self.list(user).find(|session| self.table[*session as usize].next == ended);
        match before {
            Some(before) => self.table[before as usize].next = next,
            None if next == NONE => self.users.remove(self.tag(user), ended),
            None => self.users.replace(self.tag(user), ended, next),
        }
        self.table[ended as usize].content = NONE;
        self.free.push(ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: UserId = UserId(42);
    const FILM: Content = Content { kind: 1, oid: 100 };
    const OTHER: Content = Content { kind: 1, oid: 200 };

    struct Fixture {
        sessions: Sessions,
        contents: Contents,
    }

    impl Fixture {
        fn new() -> Self {
            Fixture { sessions: Sessions::new(10_000, 100), contents: Contents::new(1_000) }
        }

        fn play(&mut self, user: u64, session: u64, content: Content, at: u64, now: u64) -> Effect {
            let (user, session) = (UserId(user), SessionId(session));
            let played = Played { user, session, content, at, visitor: Visitor::default() };
            self.sessions.play(played, NONE, now, &mut self.contents)
        }

        /// Sessions and users of FILM.
        fn film(&self) -> (u32, u32) {
            let counts = self.contents.counts(FILM);
            (counts.sessions, counts.users)
        }
    }

    #[test]
    fn a_session_is_live_until_the_timeout_after_its_newest_beat() {
        let mut live = Fixture::new();
        assert_eq!(live.play(42, 1, FILM, 1_000_000, 1_000_100), Effect::Visit);
        assert_eq!(live.play(42, 1, FILM, 1_005_000, 1_005_100), Effect::Same);
        assert_eq!(live.play(42, 1, OTHER, 1_004_000, 1_005_200), Effect::Same, "older than the newest");
        live.sessions.run_out(1_014_999, &mut live.contents);
        assert_eq!(live.film(), (1, 1));
        live.sessions.run_out(1_015_000, &mut live.contents);
        assert_eq!((live.film(), live.sessions.count(), live.sessions.users()), ((0, 0), 0, 0));
        assert_eq!(live.play(42, 1, FILM, 1_005_000, 1_015_000), Effect::Same, "too old");
        assert_eq!(live.sessions.count(), 0);
    }

    #[test]
    fn two_sessions_of_a_user_are_one_user() {
        let mut live = Fixture::new();
        live.play(42, 1, FILM, 1_000, 1_000);
        live.play(42, 2, FILM, 1_000, 1_000);
        live.play(43, 1, FILM, 1_000, 1_000);
        assert_eq!((live.film(), live.sessions.count(), live.sessions.users()), ((3, 2), 3, 2));
        assert_eq!(live.play(42, 1, OTHER, 2_000, 2_000), Effect::Visit);
        assert_eq!(live.film(), (2, 2));
        live.sessions.dismiss(USER, &mut live.contents);
        assert_eq!((live.film(), live.sessions.count(), live.sessions.users()), ((1, 1), 1, 1));
    }

    #[test]
    fn an_end_closes_only_its_own_session_and_only_if_not_older() {
        let mut live = Fixture::new();
        live.play(42, 1, FILM, 1_000, 1_000);
        live.play(42, 2, FILM, 1_000, 1_000);
        live.sessions.finish(USER, SessionId(1), 999, &mut live.contents);
        live.sessions.finish(USER, SessionId(3), 2_000, &mut live.contents);
        live.sessions.finish(UserId(7), SessionId(1), 2_000, &mut live.contents);
        assert_eq!(live.film(), (2, 1));
        live.sessions.finish(USER, SessionId(1), 1_000, &mut live.contents);
        assert_eq!(live.film(), (1, 1));
    }

    #[test]
    fn one_user_cannot_fill_the_table_and_a_full_table_takes_no_more() {
        let mut live = Fixture::new();
        for session in 0..1_000 {
            live.play(42, session, FILM, 1_000 + session, 2_000);
        }
        assert_eq!(live.film(), (SESSIONS_PER_USER as u32, 1));
        assert_eq!(live.play(42, 999, FILM, 2_000, 2_000), Effect::Same, "the newest are kept");
        let others: Vec<Effect> = (0..100).map(|user| live.play(user + 100, 1, FILM, 2_000, 2_000)).collect();
        let full = others.iter().filter(|effect| **effect == Effect::Full).count();
        assert_eq!((full, live.sessions.count()), (SESSIONS_PER_USER, 100));
        assert_eq!(live.play(42, 1_001, FILM, 2_000, 2_000), Effect::Visit, "in place of an older one");
    }
}
