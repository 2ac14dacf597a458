//! Decides a group by the rules of the model and stores what has changed.
//!
//! One batch and one `fdatasync` for each group; none if nothing has changed. Whoever writes holds the [`Committer`], so
//! that what was read is still true when it is written.

use std::sync::Arc;

use fjall::OwnedWriteBatch;

use super::codec::RowWriter;
use super::draft::Draft;
use super::known::Known;
use super::outbox::Ends;
use super::reward::Rewarder;
use super::tables::{ReadError, Tables};
use crate::model::beat::Beat;
use crate::model::change::{Action, Change, Outcome, When};
use crate::model::ids::{Content, UserId};
use crate::model::moment::Moment;
use crate::model::recording::Switch;
use crate::model::rewards::calendar::StoredCalendar;
use crate::model::rule::{Admission, Reason, Verdict, decide};
use crate::storage::embedded::describe;
use crate::storage::hot_store::config::Config;
use crate::storage::hot_store::{Committed, Group, Rewarding, StoreError};

pub struct Committer {
    pub tables: Tables,
    pub known: Known,
    pub writer: RowWriter,
    admission: Admission,
    contents_max: u32,
    outbox: Arc<Ends>,
    /// As it is stored.
    calendar: Option<StoredCalendar>,
    /// Why nothing is written any more.
    failed: Option<String>,
}

impl Committer {
    pub fn new(
        tables: Tables,
        config: &Config,
        admission: Admission,
        outbox: Arc<Ends>,
        calendar: Option<StoredCalendar>,
    ) -> Self {
        Committer {
            tables,
            known: Known::new(config.user_cache),
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
        let mut draft = Draft::new(&self.tables, &mut self.known, group.changes.len());
        let moment =
            Moment { now: group.now, horizon: self.admission.horizon(group.now), day: group.rewards.today.day };
        let rewarder = Rewarder { now: group.now, rewards: &group.rewards, decided: Vec::new() };
        let mut decision = Decision { moment, contents_max: self.contents_max, rewarder };
        let mut outcomes = Vec::with_capacity(group.changes.len());
        for (place, change) in group.changes.iter().enumerate() {
            match decision.apply(&mut draft, place, change) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    // What it says was drafted, and will not be.
                    self.known.full.clear();
                    return Err(self.unread(error));
                }
            }
        }
        let decided = decision.rewarder.decided;
        match draft.batch(&self.tables, &mut self.writer, group.now, &self.outbox) {
            Ok(None) => {}
            Ok(Some(mut batch)) => {
                calendar.iter().for_each(|calendar| self.tables.put_calendar(&mut batch, calendar));
                // Before they can be read: what is read may be removed at once.
                self.outbox.added(draft.claims.count());
                if let Err(error) = batch.commit() {
                    return Err(self.fail(describe(&error)));
                }
                self.calendar = calendar.or(self.calendar.take());
            }
            Err(error) => return Err(self.fail(describe(&error))),
        }
        draft.remember();
        Ok(Committed { outcomes, decided, ..Committed::default() })
    }

    /// The group's day, unless it is the one that is stored.
    fn calendar_of(&self, rewards: &Rewarding) -> Option<StoredCalendar> {
        let Rewarding { rules, today, .. } = rewards;
        let ids = || today.rules.iter().map(|place| &*rules.get(place).id);
        let same = |stored: &StoredCalendar| {
            (stored.day, &*stored.zone) == (today.day, &*today.zone) && stored.rules.iter().eq(ids())
        };
        let new = !self.calendar.as_ref().is_some_and(same);
        new.then(|| StoredCalendar {
            day: today.day,
            zone: today.zone.to_string(),
            rules: ids().map(str::to_owned).collect(),
        })
    }

    /// Stores a batch that may be lost with the machine.
    pub fn write_at_leisure(&mut self, batch: OwnedWriteBatch) -> Result<(), StoreError> {
        batch.commit().map_err(|error| self.fail(describe(&error)))
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

/// By what a group is decided.
struct Decision<'g> {
    moment: Moment,
    contents_max: u32,
    rewarder: Rewarder<'g>,
}

impl Decision<'_> {
    /// `place`: which change of the group it is.
    fn apply(&mut self, draft: &mut Draft, place: usize, change: &Change) -> Result<Outcome, ReadError> {
        let user = change.user;
        match &change.action {
            Action::Beat { beat, device, asks } => {
                let verdict = self.beat(draft, user, beat, device)?;
                if let Verdict::Written { after, .. } = &verdict {
                    self.rewarder.reward(draft, place, user, beat, after, *asks)?;
                }
                Ok(Outcome::Beat(verdict))
            }
            Action::Delete { contents, at } => self.delete(draft, user, contents, *at),
            Action::Clear { at } => self.clear(draft, user, *at),
            Action::Recording { paused, at } => self.recording(draft, user, *paused, *at),
            Action::Erase => self.erase(draft, user),
        }
    }

    fn beat(&self, draft: &mut Draft, user: UserId, beat: &Beat, device: &Arc<str>) -> Result<Verdict, ReadError> {
        let (user_row, content) = draft.user_and_content(user, beat.content)?;
        let new = content.row.is_empty();
        let verdict = decide(user_row, &mut content.row, beat, device, &self.moment);
        if !matches!(verdict, Verdict::Written { .. }) {
            return Ok(verdict);
        }
        content.changed = true;
        if new && !draft.make_room(user, beat.content, beat.at, self.contents_max)? {
            draft.content(user, beat.content)?.row = Default::default();
            return Ok(Verdict::Rejected { reason: Reason::Superseded, record: None });
        }
        Ok(verdict)
    }

    fn delete(&self, draft: &mut Draft, user: UserId, contents: &[Content], at: When) -> Result<Outcome, ReadError> {
        let newest = || {
            contents.iter().try_fold(0, |newest: u64, content| {
                let (user_row, content) = draft.user_and_content(user, *content)?;
                Ok(newest.max(content.row.live(user_row, self.moment.horizon).map_or(0, |record| record.at)))
            })
        };
        let Some(at) = at.resolve::<ReadError>(self.moment.now, newest)? else { return Ok(Outcome::Ahead) };
        let mut moved = Vec::new();
        for content in contents {
            let drafted = draft.content(user, *content)?;
            let new = drafted.row.is_empty();
            if !drafted.row.delete(at) {
                continue;
            }
            drafted.changed = true;
            moved.push(*content);
            if new && !draft.make_room(user, *content, at, self.contents_max)? {
                draft.content(user, *content)?.row = Default::default();
                draft.raise_floor(user, at)?;
            }
        }
        Ok(Outcome::Deleted { moved, at })
    }

    fn clear(&self, draft: &mut Draft, user: UserId, at: When) -> Result<Outcome, ReadError> {
        let Some(at) = at.resolve(self.moment.now, || self.newest_record(draft, user))? else {
            return Ok(Outcome::Ahead);
        };
        let drafted = draft.user_mut(user)?;
        let moved = drafted.row.clear(at);
        drafted.row_changed |= moved;
        Ok(Outcome::Cleared { moved, at })
    }

    fn recording(&self, draft: &mut Draft, user: UserId, paused: bool, at: When) -> Result<Outcome, ReadError> {
        let Some(at) = at.resolve(self.moment.now, || self.newest_record(draft, user))? else {
            return Ok(Outcome::Ahead);
        };
        let drafted = draft.user_mut(user)?;
        let moved = drafted.row.recording.switch(Switch { at, paused }, self.moment.horizon);
        drafted.row_changed |= moved;
        Ok(Outcome::Recording { moved, paused: drafted.row.recording.paused() })
    }

    fn erase(&self, draft: &mut Draft, user: UserId) -> Result<Outcome, ReadError> {
        let newest = draft.take_contents(user)?;
        draft.claims.erase(user, &draft.view)?;
        let drafted = draft.user_mut(user)?;
        let resumed = drafted.row.recording.paused();
        drafted.row.erase(self.moment.now.max(newest));
        drafted.row_changed = true;
        Ok(Outcome::Erased { at: drafted.row.watermark, resumed })
    }

    /// The `at` of the user's newest record; 0 = there is none.
    fn newest_record(&self, draft: &mut Draft, user: UserId) -> Result<u64, ReadError> {
        let row = draft.user(user)?.clone();
        let mut newest = 0;
        draft.visit(user, |_, content| {
            newest = newest.max(content.live(&row, self.moment.horizon).map_or(0, |record| record.at));
        })?;
        Ok(newest)
    }
}
