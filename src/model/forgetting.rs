//! Deletes and clears: the rows of a user and of a content that record them.

use super::record::Record;
use super::recording::Recording;
use super::transition::Cause;
use super::version::Version;

/// A deleted content: beats that are not newer than `at` are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Server-clock milliseconds.
    pub at: u64,
    pub version: Version,
}

/// All that is kept of one user in one content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentRow {
    pub record: Option<Record>,
    pub tombstone: Option<Tombstone>,
}

/// The order in which contents give way to the cap of contents per user: deleted ones before those with a record, and
/// of each the one first that is known by the oldest moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Eviction {
    // The order of the fields is that of the comparison.
    pub has_record: bool,
    pub newest: u64,
}

impl Eviction {
    /// After all others.
    pub const LAST: Self = Eviction { has_record: true, newest: u64::MAX };
}

/// All that is kept of one user beside the contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRow {
    /// The newest clear: no record at or before it is there any more. 0 = never cleared.
    pub watermark: u64,
    /// Contents that had to give way to the cap of contents per user were not newer than this. A content
    /// without a record accepts only beats newer than it, so that what was evicted cannot come back older than it was.
    pub floor: u64,
    /// The newest erasure that was done, by which a repetition is recognised. 0 = none.
    pub erased: u64,
    pub recording: Recording,
}

/// The rows of an erased user.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErasedRows {
    /// The newest moment by which anything was known that is gone.
    pub newest_gone: u64,
    /// The oldest moment of the records that are newer than the erasure.
    pub oldest_kept: Option<u64>,
}

/// The oldest moment that reads return, milliseconds: what is older was cleared, or has outlived the retention
/// (`horizon` = now − retention).
pub fn oldest_live(watermark: u64, horizon: u64) -> u64 {
    horizon.max(watermark.saturating_add(1))
}

impl ContentRow {
    /// The record, if reads return it.
    pub fn live(&self, user: &UserRow, horizon: u64) -> Option<&Record> {
        self.record.as_ref().filter(|record| record.at >= user.oldest_live(horizon))
    }

    /// The same, taken out.
    pub fn into_live(self, user: &UserRow, horizon: u64) -> Option<Record> {
        self.live(user, horizon).is_some().then_some(self.record).flatten()
    }

    /// The greatest version this content ever had, as far as it is still known.
    pub fn last_version(&self) -> Version {
        let record = self.record.as_ref().map_or(Version::NONE, |record| record.version);
        let tombstone = self.tombstone.map_or(Version::NONE, |tombstone| tombstone.version);
        record.max(tombstone)
    }

    /// The order in which this content is evicted at the cap of contents per user.
    pub fn eviction(&self) -> Eviction {
        Eviction { has_record: self.record.is_some(), newest: self.newest() }
    }

    /// The newest moment this content is known by.
    pub fn newest(&self) -> u64 {
        let record = self.record.as_ref().map_or(0, |record| record.at);
        record.max(self.tombstone.map_or(0, |tombstone| tombstone.at))
    }

    pub fn is_empty(&self) -> bool {
        self.record.is_none() && self.tombstone.is_none()
    }

    /// Raises the tombstone to `at` and drops a record that is not newer. Returns the record that went, if one did; but
    /// `None` if the tombstone was there already, or there is no version left for it.
    ///
    /// Versions stay below the next millisecond: a later store takes them for the time of the write. A delete that is
    /// older than the record leaves the last version of the record's millisecond to the delete of the record. It may go
    /// without one, since beats that are older than the record are refused anyway.
    pub fn delete(&mut self, at: u64) -> Option<Option<Record>> {
        if self.tombstone.is_some_and(|tombstone| tombstone.at >= at) {
            return None;
        }
        let version = Version::last_of(at).max(self.last_version().next());
        if self.record.as_ref().is_some_and(|record| record.at > at && version >= Version::last_of(record.at)) {
            return None;
        }
        self.tombstone = Some(Tombstone { at, version });
        Some(self.record.take_if(|record| record.at <= at))
    }

    /// Drops a record that no read can return any more. Returns it with the cause.
    pub fn take_dead(&mut self, user: &UserRow, horizon: u64) -> Option<(Record, Cause)> {
        self.live(user, horizon).is_none().then_some(())?;
        let record = self.record.take()?;
        let cause = if record.at <= user.watermark { Cause::Clear } else { Cause::Expiry };
        Some((record, cause))
    }

    /// Empties the row, unless it has a record newer than `upto`. Returns the record that went. Beside a newer record the
    /// tombstone stays: without it the row would have a lower version than before, and a history store keep the older row.
    pub fn erase(&mut self, upto: u64, rows: &mut ErasedRows) -> Option<Record> {
        match self.record.as_ref().map(|record| record.at).filter(|at| *at > upto) {
            Some(at) => {
                rows.oldest_kept = Some(rows.oldest_kept.map_or(at, |oldest| oldest.min(at)));
                None
            }
            None => {
                rows.newest_gone = rows.newest_gone.max(self.newest());
                std::mem::take(self).record
            }
        }
    }

    /// Drops what no read can return and no beat can meet any more: a cleared or expired record, and an expired
    /// tombstone unless there is a record beside it, with which it goes. True: something went.
    pub fn prune(&mut self, user: &UserRow, horizon: u64) -> bool {
        let dead_record = self.take_dead(user, horizon);
        let alone = self.record.is_none();
        let dead_tombstone = self.tombstone.take_if(|tombstone| alone && tombstone.at < horizon);
        dead_record.is_some() || dead_tombstone.is_some()
    }
}

impl UserRow {
    /// As [`oldest_live`].
    pub fn oldest_live(&self, horizon: u64) -> u64 {
        oldest_live(self.watermark, horizon)
    }

    /// Raises the watermark to `at`. False: it was there already.
    pub fn clear(&mut self, at: u64) -> bool {
        let moves = at > self.watermark;
        self.watermark = self.watermark.max(at);
        moves
    }

    /// Nothing older than the horizon is accepted or shown, so what refuses or hides only that may go. True: something
    /// went.
    pub fn prune(&mut self, horizon: u64) -> bool {
        let before = self.clone();
        for at in [&mut self.watermark, &mut self.floor, &mut self.erased] {
            if *at < horizon {
                *at = 0;
            }
        }
        self.recording.drop_expired(horizon);
        if self.recording.switches().is_empty() && self.recording.frozen() < horizon {
            self.recording = Recording::default();
        }
        *self != before
    }

    /// The newest moment that anything of it is known by; 0 = it knows nothing.
    pub fn newest(&self) -> u64 {
        let switches = self.recording.switches().iter().map(|switch| switch.at);
        switches.chain([self.watermark, self.floor, self.recording.frozen()]).max().unwrap_or(0)
    }

    /// Forgets everything up to `at` but that it was forgotten, and that what was refused before stays away: without that
    /// a late beat of a device that was offline would bring a record back. `rows`: what became of the user's rows. No
    /// record that they keep is hidden.
    pub fn erase(&mut self, at: u64, rows: &ErasedRows) {
        let refused = self.floor.max(rows.newest_gone);
        self.watermark = self.watermark.max(at);
        if rows.oldest_kept.is_none_or(|kept| kept > refused) {
            self.watermark = self.watermark.max(refused);
        }
        self.floor = if refused > self.watermark { refused } else { 0 };
        self.recording.erase(at);
        self.erased = at;
    }
}
