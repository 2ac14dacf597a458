//! The contents with the most sessions, and those that gain most.
//!
//! Lossy counting in a bounded table, with exact counts: the sessions of a content are known when it enters the table,
//! so only contents without a place can be missed. A content without sessions leaves. When the table is full, the half
//! with the fewest sessions leaves, and the most sessions that any of them has bound the error. A content comes back
//! with its next session, so a missed one never has more than it had when it left.

use std::collections::HashMap;

use super::history::{History, Window};
use crate::ids::Content;

/// Contents in a ranking.
const RANKED_MAX: usize = 100;

/// The table of the contents that may be among the first.
pub struct Top {
    /// Contents in the table.
    most: usize,
    table: HashMap<Content, Entry>,
    /// The histories of contents that have left the table, as many as it may hold.
    past: HashMap<Content, History>,
    /// Sessions of the contents in the table.
    inside: u64,
    /// No content outside has more sessions.
    missed: u32,
    /// The greatest error of each minute.
    errors: History,
    window: Window,
}

#[derive(Clone, Copy)]
struct Entry {
    sessions: u32,
    history: History,
}

/// A content with its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    pub content: Content,
    pub sessions: u32,
}

/// The first ones, and by how much the sessions (or the rise) of a content that is missing among them may be more than
/// said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    pub ranked: Vec<Ranked>,
    pub error: u32,
}

impl Top {
    pub fn new(most: usize) -> Self {
        Top {
            most: most.max(2),
            table: HashMap::new(),
            past: HashMap::new(),
            inside: 0,
            missed: 0,
            errors: History::default(),
            window: Window::default(),
        }
    }

    /// A content has a session more: so many now. It gets a place if it has none.
    pub fn joined(&mut self, content: Content, sessions: u32) {
        if !self.table.contains_key(&content) {
            if self.table.len() == self.most {
                self.cut();
            }
            self.enter(content, sessions);
            return;
        }
        self.set(content, sessions);
    }

    /// A content has a session less: so many now.
    pub fn left(&mut self, content: Content, sessions: u32) {
        self.set(content, sessions);
    }

    fn set(&mut self, content: Content, sessions: u32) {
        let Some(entry) = self.table.get_mut(&content) else { return };
        self.inside = self.inside - u64::from(entry.sessions) + u64::from(sessions);
        entry.sessions = sessions;
        if sessions == 0 {
            self.leave(content);
        }
    }

    fn enter(&mut self, content: Content, sessions: u32) {
        let history = self.past.remove(&content).unwrap_or_default();
        self.table.insert(content, Entry { sessions, history });
        self.inside += u64::from(sessions);
    }

    fn leave(&mut self, content: Content) {
        let Some(Entry { sessions, history }) = self.table.remove(&content) else { return };
        self.inside -= u64::from(sessions);
        self.missed = self.missed.max(sessions);
        if history.is_empty() {
            return;
        }
        if self.past.len() == self.most {
            // A content whose history is forgotten seems to rise by its mean.
            let forgotten = self.past.drain().map(|(_, history)| self.window.mean(&history)).max();
            self.errors.raise(&self.window, forgotten.unwrap_or(0));
        }
        self.past.insert(content, history);
    }

    /// Half of the table leaves: those with the fewest sessions.
    fn cut(&mut self) {
        let mut counts: Vec<_> = self.table.iter().map(|(content, entry)| (entry.sessions, *content)).collect();
        let half = counts.len() / 2;
        counts.select_nth_unstable(half);
        counts[..half].iter().for_each(|(_, content)| self.leave(*content));
    }

    /// Goes through all watched contents, so that the error is no greater than it has to be. Half of the table is left
    /// free, unless all have a place in it.
    pub fn rebuild(&mut self, watched: impl Iterator<Item = (Content, u32)>) {
        let mut counts: Vec<_> = watched.map(|(content, sessions)| (sessions, content)).collect();
        let outside = if counts.len() <= self.most { 0 } else { counts.len() - self.most / 2 };
        if outside > 0 {
            counts.select_nth_unstable(outside);
        }
        let (outside, inside) = counts.split_at(outside);
        outside.iter().for_each(|(_, content)| self.leave(*content));
        for (sessions, content) in inside {
            if !self.table.contains_key(content) {
                self.enter(*content, *sessions);
            }
        }
        self.missed = outside.iter().map(|(sessions, _)| *sessions).max().unwrap_or(0);
    }

    /// The most sessions that a content without a place may have; `all`: the sessions of all contents.
    pub fn error(&self, all: u64) -> u32 {
        u64::from(self.missed).min(all.saturating_sub(self.inside)) as u32
    }

    /// Notes the counts for this second, and for those since the last one that was noted.
    pub fn note(&mut self, second: u64, all: u64) {
        let error = self.error(all);
        self.missed = error;
        for passed in self.window.upto(second) {
            if passed % 60 == 0 {
                self.past.values_mut().for_each(|history| history.begin(passed));
                self.past.retain(|_, history| !history.is_empty());
            }
            self.table.values_mut().for_each(|entry| entry.history.add(passed, entry.sessions));
            self.errors.begin(passed);
            self.errors.raise(&self.window, error);
        }
    }

    /// By their sessions now; of equals, by kind and oid.
    pub fn now(&self, all: u64) -> Ranking {
        Ranking { ranked: self.of(|_| true), error: self.error(all) }
    }

    /// The same of these kinds alone.
    pub fn of_kinds(&self, kinds: &[u16]) -> Vec<Ranked> {
        self.of(|content| kinds.contains(&content.kind))
    }

    fn of(&self, wanted: impl Fn(&Content) -> bool) -> Vec<Ranked> {
        let wanted = self.table.iter().filter(|(content, _)| wanted(content));
        first(wanted.map(|(content, entry)| (i64::from(entry.sessions), *content, entry.sessions)).collect())
    }

    /// By how many more sessions they have than in the mean of the last 15 minutes; without those that have no more.
    pub fn rising(&self, all: u64) -> Ranking {
        let rises = self.table.iter().filter_map(|(content, entry)| {
            let rise = self.window.rise(&entry.history, entry.sessions);
            (rise > 0).then_some((rise, *content, entry.sessions))
        });
        Ranking { ranked: first(rises.collect()), error: self.errors.greatest().max(self.error(all)) }
    }
}

fn first(mut counts: Vec<(i64, Content, u32)>) -> Vec<Ranked> {
    let order = |one: &(i64, Content, u32), other: &(i64, Content, u32)| other.0.cmp(&one.0).then(one.1.cmp(&other.1));
    if counts.len() > RANKED_MAX {
        counts.select_nth_unstable_by(RANKED_MAX, order);
        counts.truncate(RANKED_MAX);
    }
    counts.sort_unstable_by(order);
    counts.into_iter().map(|(_, content, sessions)| Ranked { content, sessions }).collect()
}

#[cfg(test)]
#[path = "top_tests.rs"]
mod tests;
