//! How many sessions and users each content and each kind has.

use std::collections::{BTreeMap, HashMap};

use super::top::Top;
use crate::ids::Content;

/// The sessions and the users of one content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub sessions: u32,
    pub users: u32,
}

/// The contents that have sessions. Each has a number for as long as it has some, so that a session names it in few
/// bytes.
pub struct Contents {
    pub top: Top,
    numbers: HashMap<Content, u32>,
    watched: Vec<Watched>,
    free: Vec<u32>,
    kinds: BTreeMap<u16, u32>,
    /// Kinds whose users are counted apart; empty = none.
    pub public_kinds: Vec<u16>,
    /// Users with a session in one of them.
    pub public_users: u32,
    /// The contents whose counts have changed since the last `take_changed`.
    changed: Vec<Content>,
}

struct Watched {
    content: Content,
    counts: Counts,
    /// Whether the content is among the changed ones already.
    told: bool,
}

impl Contents {
    /// `top`: contents in the table of the first ones.
    pub fn new(top: usize) -> Self {
        Contents {
            top: Top::new(top),
            numbers: HashMap::new(),
            watched: Vec::new(),
            free: Vec::new(),
            kinds: BTreeMap::new(),
            public_kinds: Vec::new(),
            public_users: 0,
            changed: Vec::new(),
        }
    }

    /// The number of a content, which is kept while it has sessions.
    pub fn number(&mut self, content: Content) -> u32 {
        let Contents { numbers, watched, free, .. } = self;
        *numbers.entry(content).or_insert_with(|| {
            let new = Watched { content, counts: Counts::default(), told: false };
            match free.pop() {
                Some(number) => {
                    watched[number as usize] = new;
                    number
                }
                None => {
                    watched.push(new);
                    (watched.len() - 1) as u32
                }
            }
        })
    }

    pub fn content(&self, number: u32) -> Content {
        self.watched[number as usize].content
    }

    /// Whether users of this content are counted apart.
    pub fn is_public(&self, number: u32) -> bool {
        self.public_kinds.contains(&self.content(number).kind)
    }

    /// One more session; `user`: the first of its user there.
    pub fn join(&mut self, number: u32, user: bool) {
        let watched = &mut self.watched[number as usize];
        watched.counts.sessions += 1;
        watched.counts.users += u32::from(user);
        *self.kinds.entry(watched.content.kind).or_default() += 1;
        if !std::mem::replace(&mut watched.told, true) {
            self.changed.push(watched.content);
        }
        self.top.joined(watched.content, watched.counts.sessions);
    }

    /// One session less; `user`: the last of its user there. With the last session the number is given up.
    pub fn leave(&mut self, number: u32, user: bool) {
        let watched = &mut self.watched[number as usize];
        watched.counts.sessions -= 1;
        watched.counts.users -= u32::from(user);
        if !std::mem::replace(&mut watched.told, true) {
            self.changed.push(watched.content);
        }
        let (content, left) = (watched.content, watched.counts.sessions);
        if left == 0 {
            self.numbers.remove(&content);
            self.free.push(number);
        }
        let of_kind = self.kinds.get_mut(&content.kind).expect("a session of the kind");
        *of_kind -= 1;
        if *of_kind == 0 {
            self.kinds.remove(&content.kind);
        }
        self.top.left(content, left);
    }

    pub fn counts(&self, content: Content) -> Counts {
        self.numbers.get(&content).map(|number| self.watched[*number as usize].counts).unwrap_or_default()
    }

    /// Makes the error of `top` as small as it can be.
    pub fn rebuild_top(&mut self) {
        let counted = self.watched.iter().map(|watched| (watched.content, watched.counts.sessions));
        self.top.rebuild(counted.filter(|(_, sessions)| *sessions > 0));
    }

    pub fn kinds(&self) -> Vec<(u16, u32)> {
        self.kinds.iter().map(|(kind, sessions)| (*kind, *sessions)).collect()
    }

    /// The contents whose counts have changed since the last call, with their counts. One may be there twice.
    pub fn take_changed(&mut self) -> Vec<(Content, Counts)> {
        let changed = std::mem::take(&mut self.changed);
        for content in &changed {
            if let Some(number) = self.numbers.get(content) {
                self.watched[*number as usize].told = false;
            }
        }
        changed.into_iter().map(|content| (content, self.counts(content))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_counted_while_it_has_sessions() {
        let mut contents = Contents::new(10);
        let (one, two) = (Content { kind: 1, oid: 1 }, Content { kind: 2, oid: 1 });
        let number = contents.number(one);
        contents.join(number, true);
        contents.join(number, false);
        let other = contents.number(two);
        contents.join(other, true);
        assert_eq!(contents.counts(one), Counts { sessions: 2, users: 1 });
        assert_eq!(contents.kinds(), [(1, 2), (2, 1)]);
        contents.leave(number, false);
        assert_eq!(contents.counts(one), Counts { sessions: 1, users: 1 });
        contents.leave(number, true);
        assert_eq!((contents.counts(one), contents.counts(two).sessions), (Counts::default(), 1));
        assert_eq!(contents.kinds(), [(2, 1)]);
    }

    #[test]
    fn changes_are_told_once_with_the_newest_counts() {
        let mut contents = Contents::new(10);
        let content = Content { kind: 1, oid: 1 };
        let number = contents.number(content);
        contents.join(number, true);
        contents.join(number, true);
        assert_eq!(contents.take_changed(), [(content, Counts { sessions: 2, users: 2 })]);
        assert_eq!(contents.take_changed(), []);
        contents.leave(number, true);
        contents.leave(number, true);
        assert_eq!(contents.take_changed(), [(content, Counts::default())]);
        let again = contents.number(content);
        contents.join(again, true);
        assert_eq!(contents.take_changed(), [(content, Counts { sessions: 1, users: 1 })]);
    }
}
