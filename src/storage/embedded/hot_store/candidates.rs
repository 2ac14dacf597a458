//! Which contents are evicted first when a user has too many.
//!
//! All of the user's rows are looked through once and the first [`CANDIDATES_MAX`] are remembered, so that a user at
//! the cap who opens one new content after the other does not hold up the commits of others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::decide::DraftRow;
use model::forgetting::Eviction;
use model::ids::Content;

const CANDIDATES_MAX: usize = 256;

/// The contents of a user that are evicted first. A row that is to be evicted later by now is noticed when it comes up;
/// a row that is to be evicted sooner has to be offered.
pub struct Candidates {
    heap: BinaryHeap<Reverse<(Eviction, Content)>>,
    /// No content outside the heap is evicted before this.
    bound: Eviction,
    /// Contents that the group has drafted: they return to the heap once it is stored.
    drafted: Vec<(Eviction, Content)>,
}

impl Candidates {
    /// Chooses among all rows of the user, each with its order of eviction.
    pub fn among(rows: Vec<(Eviction, Content)>, is_drafted: impl Fn(Content) -> bool) -> Self {
        let (drafted, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, content)| is_drafted(*content));
        let mut bound = Eviction::LAST;
        if rows.len() > CANDIDATES_MAX {
            bound = rows.select_nth_unstable(CANDIDATES_MAX).1.0;
            rows.truncate(CANDIDATES_MAX);
        }
        Candidates { heap: rows.into_iter().map(Reverse).collect(), bound, drafted }
    }

    pub fn offer(&mut self, eviction: Eviction, content: Content) {
        if eviction < self.bound {
            self.heap.push(Reverse((eviction, content)));
        }
    }

    /// The first content that is not drafted.
    pub fn first(&mut self, is_drafted: impl Fn(Content) -> bool) -> Option<(Eviction, Content)> {
        loop {
            let Reverse(first) = *self.heap.peek()?;
            if !is_drafted(first.1) {
                return Some(first);
            }
            self.drafted.push(first);
            self.heap.pop();
        }
    }

    pub fn drop_first(&mut self) {
        self.heap.pop();
    }

    /// Takes note of rows of a draft that are stored now.
    pub fn stored(&mut self, rows: &[DraftRow]) {
        let drafted = std::mem::take(&mut self.drafted);
        drafted.into_iter().for_each(|(eviction, content)| self.offer(eviction, content));
        let is_sooner = |draft: &&DraftRow| !draft.is_stored || draft.row.record.is_none();
        let changed = rows.iter().filter(|draft| draft.changed && !draft.row.is_empty());
        changed.filter(is_sooner).for_each(|draft| self.offer(draft.row.eviction(), draft.content));
    }
}
