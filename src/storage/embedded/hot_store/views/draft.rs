//! The changes of views in a batch: each number is read once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use fjall::{OwnedWriteBatch, Snapshot};

use super::tables::{MarkKey, ViewTables, mark_key};
use crate::hot_store::tables::ReadError;
use model::ids::Content;
use model::rewards::day::Day;
use model::view::{View, Viewed};

pub struct ViewDraft<'a> {
    tables: &'a ViewTables,
    snapshot: &'a Snapshot,
    totals: BTreeMap<Content, u64>,
    days: BTreeMap<(Content, Day), u64>,
    marks: BTreeSet<(Day, MarkKey)>,
}

impl<'a> ViewDraft<'a> {
    pub fn new(tables: &'a ViewTables, snapshot: &'a Snapshot) -> Self {
        ViewDraft { tables, snapshot, totals: BTreeMap::new(), days: BTreeMap::new(), marks: BTreeSet::new() }
    }

    /// Counts a view, unless its session was counted before.
    pub fn count(&mut self, view: &View) -> Result<Viewed, ReadError> {
        let mark = view.session.map(|session| mark_key(view.user, view.content, session));
        if let Some(mark) = mark {
            let drafted = view.day.around().iter().any(|day| self.marks.contains(&(*day, mark)));
            if drafted || self.tables.is_marked(self.snapshot, view.day, &mark)? {
                return Ok(Viewed { counted: false, total: Some(*self.total(view.content)?) });
            }
            self.marks.insert((view.day, mark));
        }
        Ok(Viewed { counted: true, total: Some(self.add(view.content, view.day)?) })
    }

    /// Adds one, and returns the total.
    pub fn add(&mut self, content: Content, day: Day) -> Result<u64, ReadError> {
        let of_day = match self.days.get(&(content, day)) {
            Some(views) => *views,
            None => self.tables.on(self.snapshot, content, day)?,
        };
        let total = self.total(content)?;
        *total += 1;
        let total = *total;
        self.days.insert((content, day), of_day + 1);
        Ok(total)
    }

    /// Removes the total and all days. The draft must not have counted the content before.
    pub fn delete(&mut self, content: Content) -> Result<(), ReadError> {
        let days = self.tables.between(self.snapshot, content, Day::of_number(0), Day::of_number(u16::MAX))?;
        self.days.extend(days.into_iter().map(|(day, _)| ((content, day), 0)));
        self.totals.insert(content, 0);
        Ok(())
    }

    pub fn put(&self, batch: &mut OwnedWriteBatch) -> fjall::Result<()> {
        // A total that was only read equals the stored one, and its day is not in the draft.
        self.totals.iter().for_each(|(content, views)| self.tables.put_total(batch, *content, *views));
        self.days.iter().for_each(|((content, day), views)| self.tables.put_day(batch, *content, *day, *views));
        let days: BTreeSet<Day> = self.marks.iter().map(|(day, _)| *day).collect();
        for day in days {
            let marks = self.marks.iter().filter(|(of, _)| *of == day).map(|(_, mark)| *mark);
            self.tables.put_marks(batch, day, marks)?;
        }
        Ok(())
    }

    /// Whether there is anything to write.
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    fn total(&mut self, content: Content) -> Result<&mut u64, ReadError> {
        match self.totals.entry(content) {
            Entry::Occupied(total) => Ok(total.into_mut()),
            Entry::Vacant(slot) => Ok(slot.insert(self.tables.total(self.snapshot, content)?)),
        }
    }
}
