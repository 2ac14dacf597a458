//! Answers that wait for the history store.
//!
//! A late beat of a content that has left the hot store is decided on the row of the history store. Until that is read
//! its connection gets no further answers of beats: they are given in the order in which the beats came. Other
//! connections go on, also those of the same user, and so do the commits of this one.

use std::collections::{HashMap, VecDeque};

use super::coalesce::{Entry, Slot};
use super::completion::Completion;
use crate::devices::inbox::BeatRef;
use model::change::Outcome;
use model::cold::ColdContents;
use model::ids::ConnectionId;

/// The connections whose answers wait, and these answers.
#[derive(Debug, Default)]
pub struct Deferred {
    connections: HashMap<ConnectionId, VecDeque<Answer>>,
    /// The number of all answers.
    len: usize,
}

#[derive(Debug)]
enum Answer {
    /// That of the slot with this newest beat. It is submitted again.
    Awaited(BeatRef),
    Known(Box<Completion>),
}

/// The outcome of handing in a completion.
pub enum Passed {
    /// These are answered now, in this order.
    Answered(Vec<Completion>),
    /// It is answered after others.
    Kept,
    /// These contents have to be read, and the entry submitted again.
    Cold(Entry, Box<ColdContents>),
    /// Too many answers wait: its connection has to be closed.
    TooMany(Entry),
}

impl Deferred {
    /// About 500 bytes each.
    const MAX: usize = 65_536;

    /// Whether completions pass without a look at each.
    pub fn is_idle(&self, completions: &[Completion]) -> bool {
        self.connections.is_empty() && !completions.iter().any(|done| matches!(done.outcome, Outcome::Cold(_)))
    }

    pub fn pass(&mut self, completion: Completion) -> Passed {
        match (completion.entry, completion.outcome) {
            (Entry::Slot(slot), Outcome::Cold(wanted)) => match self.wait_for(&slot) {
                true => Passed::Cold(Entry::Slot(slot), wanted),
                false => Passed::TooMany(Entry::Slot(slot)),
            },
            (order, Outcome::Cold(wanted)) => Passed::Cold(order, wanted),
            (Entry::Slot(slot), outcome) => {
                let (connection, beat_ref) = (slot.inbox.id, slot.beat_ref(0));
                let completion = Completion { entry: Entry::Slot(slot), outcome, news: completion.news };
                self.answer(connection, beat_ref, completion)
            }
            (entry, outcome) => Passed::Answered(vec![Completion { entry, outcome, news: completion.news }]),
        }
    }

    /// False: too many wait.
    fn wait_for(&mut self, slot: &Slot) -> bool {
        let answers = self.connections.get(&slot.inbox.id);
        if answers.is_some_and(|answers| answers.iter().any(|answer| answer.is_of(slot.beat_ref(0)))) {
            return true;
        }
        if self.len == Self::MAX {
            return false;
        }
        self.len += 1;
        self.connections.entry(slot.inbox.id).or_default().push_back(Answer::Awaited(slot.beat_ref(0)));
        true
    }

    fn answer(&mut self, connection: ConnectionId, beat_ref: BeatRef, completion: Completion) -> Passed {
        let Some(answers) = self.connections.get_mut(&connection) else { return Passed::Answered(vec![completion]) };
        match answers.iter_mut().find(|answer| answer.is_of(beat_ref)) {
            Some(awaited) => *awaited = Answer::Known(Box::new(completion)),
            None if self.len == Self::MAX => return Passed::TooMany(completion.entry),
            None => {
                self.len += 1;
                answers.push_back(Answer::Known(Box::new(completion)));
            }
        }
        let mut answered = Vec::new();
        while let Some(Answer::Known(completion)) = answers.pop_front_if(|first| matches!(first, Answer::Known(_))) {
            answered.push(*completion);
        }
        self.len -= answered.len();
        if answers.is_empty() {
            self.connections.remove(&connection);
        }
        if answered.is_empty() { Passed::Kept } else { Passed::Answered(answered) }
    }
}

impl Answer {
    fn is_of(&self, beat_ref: BeatRef) -> bool {
        matches!(self, Answer::Awaited(awaited) if *awaited == beat_ref)
    }
}
