//! Commits a group: the model decides it, and the changes are stored.
//!
//! One batch and one `fdatasync` for each group; none if nothing has changed. The writer holds the [`GroupWriter`], so
//! that the state it read is still current when it writes.

use std::cell::RefCell;
use std::sync::Arc;

use super::codec::RowWriter;
use super::counters::Counting;
use super::draft::GroupDraft;
use super::notices::Noticing;
use super::outbox::Extent;
use super::tables::{ReadError, Tables};
use super::user_cache::UserCache;
use super::views::{ViewDraft, ViewTables};
use crate::describe;
use crate::disk_room::DiskRoom;
use model::decide::Decider;
use model::rewards::calendar::StoredCalendar;
use model::rewards::rewarding::Rewarding;
use model::rule::Admission;
use storage::hot_store::config::Config;
use storage::hot_store::{Committed, Group, StoreError};

pub struct GroupWriter {
    pub tables: Tables,
    pub views: ViewTables,
    pub counting: Counting,
    pub noticing: Noticing,
    pub cache: UserCache,
    pub writer: RowWriter,
    admission: Admission,
    contents_max: u32,
    /// Without room nothing is written yet.
    room: Arc<DiskRoom>,
    pub outbox: Arc<Extent>,
    /// The stored calendar.
    calendar: Option<StoredCalendar>,
    /// The reason why nothing is written any more.
    failed: Option<String>,
}

/// The parts of a batch beside rows and claims.
pub struct Effects {
    pub views: ViewTables,
    pub counting: Counting,
    pub noticing: Noticing,
}

impl GroupWriter {
    pub fn new(
        tables: Tables,
        Effects { views, counting, noticing }: Effects,
        config: &Config,
        room: Arc<DiskRoom>,
        outbox: Arc<Extent>,
        calendar: Option<StoredCalendar>,
    ) -> Self {
        GroupWriter {
            tables,
            views,
            counting,
            noticing,
            cache: UserCache::new(config.user_cache),
            writer: RowWriter::default(),
            admission: config.admission(),
            contents_max: config.records_per_user.get(),
            room,
            outbox,
            calendar,
            failed: None,
        }
    }

    pub fn commit(&mut self, group: &Group) -> Result<Committed, StoreError> {
        self.require_writable()?;
        let calendar = self.calendar_of(&group.rewards);
        let (view, cache) = (self.tables.view(), RefCell::new(&mut self.cache));
        let mut draft = GroupDraft::new(&view, &cache, group.changes.len());
        let horizon = self.admission.retention.horizon(group.now);
        let decider = Decider::new(group.now, horizon, self.contents_max, &group.rewards);
        let mut decider = decider.for_changes(group.changes.len());
        let mut outcomes = Vec::with_capacity(group.changes.len());
        for (index, change) in group.changes.iter().enumerate() {
            let user = draft.of(change.user);
            match user.and_then(|user| decider.decide(user, index, change.user, &change.action)) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    // The cached candidates may name contents of the draft, which will not be stored.
                    self.cache.full.clear();
                    return Err(self.unread(error));
                }
            }
        }
        let (decided, transitions) = decider.finish();
        let mut views = ViewDraft::new(&self.views, &view.snapshot);
        if let Err(error) = draft.count_views(&mut views) {
            self.cache.full.clear();
            return Err(self.unread(error));
        }
        let batch = draft.batch(&self.tables, &mut self.writer, self.outbox.next());
        match batch.and_then(|mut batch| views.put(&mut batch).map(|()| batch)) {
            Ok(batch) if batch.is_empty() => {}
            Ok(mut batch) => {
                if let Err(error) = self.counting.put(&mut batch, &view.snapshot, &transitions) {
                    self.cache.full.clear();
                    return Err(self.unread(error));
                }
                self.noticing.put(&mut batch, group, &outcomes);
                self.tables.put_newest_commit(&mut batch, group.now);
                calendar.iter().for_each(|calendar| self.tables.put_calendar(&mut batch, calendar));
                // Counted before they can be read, since a reader may remove an entry at once.
                self.outbox.added(draft.entries());
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

    /// The group's day, unless that day is stored already.
    fn calendar_of(&self, rewards: &Rewarding) -> Option<StoredCalendar> {
        let is_stored = self.calendar.as_ref().is_some_and(|stored| rewards.is_of(stored));
        (!is_stored).then(|| rewards.calendar())
    }

    /// To be called before each write.
    pub fn require_writable(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(why) => Err(StoreError::Failed(why.clone())),
            None => self.room.require(),
        }
    }

    pub fn unread(&mut self, error: ReadError) -> StoreError {
        match error {
            ReadError::Io(why) => StoreError::Away(why),
            ReadError::Damaged(why) => self.fail(why),
        }
    }

    pub fn fail(&mut self, why: String) -> StoreError {
        self.failed = Some(why.clone());
        StoreError::Failed(why)
    }
}
