//! Has a group decided by the model and stores what has changed.
//!
//! One batch and one `fdatasync` for each group; none if nothing has changed. The writer holds the [`GroupWriter`],
//! so that what was read is still true when it is written.

use std::cell::RefCell;
use std::sync::Arc;

use super::codec::RowWriter;
use super::draft::GroupDraft;
use super::outbox::Extent;
use super::tables::{ReadError, Tables};
use super::user_cache::UserCache;
use crate::model::decide::Decider;
use crate::model::rewards::calendar::StoredCalendar;
use crate::model::rewards::rewarding::Rewarding;
use crate::model::rule::Admission;
use crate::storage::embedded::describe;
use crate::storage::hot_store::config::Config;
use crate::storage::hot_store::{Committed, Group, StoreError};

pub struct GroupWriter {
    pub tables: Tables,
    pub cache: UserCache,
    pub writer: RowWriter,
    admission: Admission,
    contents_max: u32,
    outbox: Arc<Extent>,
    /// As it is stored.
    calendar: Option<StoredCalendar>,
    /// Why nothing is written any more.
    failed: Option<String>,
}

impl GroupWriter {
    pub fn new(
        tables: Tables,
        config: &Config,
        admission: Admission,
        outbox: Arc<Extent>,
        calendar: Option<StoredCalendar>,
    ) -> Self {
        GroupWriter {
            tables,
            cache: UserCache::new(config.user_cache),
            writer: RowWriter::default(),
            admission,
            contents_max: config.records_per_user.get(),
            outbox,
            calendar,
            failed: None,
        }
    }

    pub fn commit(&mut self, group: &Group) -> Result<Committed, StoreError> {
        self.refuse_if_failed()?;
        let calendar = self.calendar_of(&group.rewards);
        let (view, cache) = (self.tables.view(), RefCell::new(&mut self.cache));
        let mut draft = GroupDraft::new(&view, &cache, group.changes.len());
        let horizon = self.admission.retention.horizon(group.now);
        let decider = Decider::new(group.now, horizon, self.contents_max, &group.rewards);
        let mut decider = decider.for_changes(group.changes.len());
        let mut outcomes = Vec::with_capacity(group.changes.len());
        for (place, change) in group.changes.iter().enumerate() {
            let user = draft.of(change.user);
            match user.and_then(|user| decider.decide(user, place, change.user, &change.action)) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    // They may name contents of the draft, which will not be stored.
                    self.cache.full.clear();
                    return Err(self.unread(error));
                }
            }
        }
        let (decided, transitions) = decider.finish();
        match draft.batch(&self.tables, &mut self.writer, self.outbox.next()) {
            Ok(batch) if batch.is_empty() => {}
            Ok(mut batch) => {
                self.tables.put_newest_commit(&mut batch, group.now);
                calendar.iter().for_each(|calendar| self.tables.put_calendar(&mut batch, calendar));
                // Before they can be read: what is read may be removed at once.
                self.outbox.added(draft.claims());
                if let Err(error) = batch.commit() {
                    return Err(self.fail(describe(&error)));
                }
                self.calendar = calendar.or(self.calendar.take());
            }
            Err(error) => return Err(self.fail(describe(&error))),
        }
        draft.remember();
        Ok(Committed { outcomes, decided, transitions, ..Committed::default() })
    }

    /// The group's day, unless it is the one that is stored.
    fn calendar_of(&self, rewards: &Rewarding) -> Option<StoredCalendar> {
        let is_stored = self.calendar.as_ref().is_some_and(|stored| rewards.is_of(stored));
        (!is_stored).then(|| rewards.calendar())
    }

    pub fn refuse_if_failed(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), |why| Err(StoreError::Failed(why)))
    }

    pub fn unread(&mut self, error: ReadError) -> StoreError {
        match error {
            ReadError::Io(why) => StoreError::Away(why),
            ReadError::Damaged(why) => self.fail(why),
        }
    }

    fn fail(&mut self, why: String) -> StoreError {
        self.failed = Some(why.clone());
        StoreError::Failed(why)
    }
}
