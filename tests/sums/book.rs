//! What was asked and answered of each content, and what follows from it for the numbers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A step of the run: everything that is asked or answered has one of its own.
pub type Step = u64;

#[derive(Default)]
pub struct Book {
    step: AtomicU64,
    contents: Mutex<BTreeMap<u64, OfContent>>,
}

#[derive(Default)]
struct OfContent {
    views: Vec<Asked>,
    deletions: Vec<Asked>,
}

#[derive(Clone, Copy)]
struct Asked {
    asked: Step,
    answered: Option<Step>,
}

/// Where something that was asked is written down.
#[derive(Clone, Copy)]
pub struct Entry {
    oid: u64,
    index: usize,
}

impl Book {
    pub fn step(&self) -> Step {
        self.step.fetch_add(1, Ordering::Relaxed)
    }

    pub fn view_asked(&self, oid: u64) -> Entry {
        self.asked(oid, |of| &mut of.views)
    }

    pub fn view_answered(&self, entry: Entry) {
        self.answered(entry, |of| &mut of.views);
    }

    pub fn deletion_asked(&self, oid: u64) -> Entry {
        self.asked(oid, |of| &mut of.deletions)
    }

    pub fn deletion_answered(&self, entry: Entry) {
        self.answered(entry, |of| &mut of.deletions);
    }

    /// What a read may tell that was asked and answered at these steps.
    ///
    /// A view is there if it was answered before the read, and no deletion may have met it: one that was answered before
    /// the view was asked has not. It is gone if it was answered before a deletion was asked that was answered before
    /// the read.
    pub fn expected(&self, oid: u64, asked: Step, answered: Step) -> RangeInclusive<u64> {
        let contents = self.contents.lock().unwrap();
        let Some(OfContent { views, deletions }) = contents.get(&oid) else { return 0..=0 };
        let before = |of: &Asked, step| of.answered.is_some_and(|answered| answered < step);
        let is_there = |view: &&Asked| {
            let met = |deletion: &Asked| deletion.asked < answered && !before(deletion, view.asked);
            before(view, asked) && !deletions.iter().any(met)
        };
        let may_be_there = |view: &&Asked| {
            let gone = |deletion: &Asked| before(view, deletion.asked) && before(deletion, asked);
            view.asked < answered && !deletions.iter().any(gone)
        };
        let count = |views: usize| views as u64;
        count(views.iter().filter(is_there).count())..=count(views.iter().filter(may_be_there).count())
    }

    fn asked(&self, oid: u64, list: impl Fn(&mut OfContent) -> &mut Vec<Asked>) -> Entry {
        let mut contents = self.contents.lock().unwrap();
        let asked = self.step();
        let list = list(contents.entry(oid).or_default());
        list.push(Asked { asked, answered: None });
        Entry { oid, index: list.len() - 1 }
    }

    fn answered(&self, Entry { oid, index }: Entry, list: impl Fn(&mut OfContent) -> &mut Vec<Asked>) {
        let mut contents = self.contents.lock().unwrap();
        let answered = self.step();
        list(contents.entry(oid).or_default())[index].answered = Some(answered);
    }
}
