//! Which beat wins.
//!
//! A beat is checked in this order: *by itself* ([`Admission::judge`]), then against deletes, clears and pauses, and
//! then *against the stored record* (both [`judge`]). So a record is the maximum by (at, session) of all beats that
//! pass the first two checks: resending beats, in any order, any number of times, changes nothing.

use std::sync::Arc;

use super::beat::{Beat, MILLIS_MAX};
use super::forgetting::{ContentRow, UserRow};
use super::moment::Moment;
use super::record::Record;
use super::retention::Retention;
use super::rewards::credit::Credit;

/// Why a beat was not kept. A rejection is an answer, not a failure: the client does not resend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It decodes, but makes no sense.
    Invalid,
    /// Its `at` lies ahead of the server's clock.
    Clock,
    /// It is older than the retention.
    Expired,
    /// Nothing was played: a failed or a false start must not erase a bookmark.
    NotStarted,
    /// It was played while recording was paused.
    NotRecording,
    /// Something newer is known: a record, a delete or a clear.
    Superseded,
}

impl Reason {
    /// As the protocol and logs name it.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Invalid => "invalid",
            Reason::Clock => "clock",
            Reason::Expired => "expired",
            Reason::NotStarted => "not_started",
            Reason::NotRecording => "not_recording",
            Reason::Superseded => "superseded",
        }
    }
}

/// How far ahead of the server's clock an `at` may be, milliseconds.
pub const AHEAD_MS_MAX: u64 = 5_000;
const RATE_MAX: f64 = 16.0;

/// The limits by which a beat is checked by itself, before it takes a slot.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    pub retention: Retention,
}

/// The fault of a beat that is rejected as [`Reason::Invalid`]: the field, and what it must be.
pub fn nonsense(beat: &Beat) -> String {
    match (0.0..=RATE_MAX).contains(&beat.rate) {
        false => format!("rate: must be from 0 to {RATE_MAX}"),
        true => format!("pos, dur, watched and at: must be at most {MILLIS_MAX}"),
    }
}

impl Admission {
    pub fn judge(&self, beat: &Beat, now: u64) -> Result<(), Reason> {
        // Whatever it came by: a row that a later store cannot take would hold up its user.
        if !beat.is_in_range() {
            return Err(Reason::Invalid);
        }
        if !(0.0..=RATE_MAX).contains(&beat.rate) {
            return Err(Reason::Invalid);
        }
        if beat.at > now + AHEAD_MS_MAX {
            return Err(Reason::Clock);
        }
        if beat.at < self.retention.horizon(now) {
            return Err(Reason::Expired);
        }
        if !beat.has_started() {
            return Err(Reason::NotStarted);
        }
        Ok(())
    }
}

/// The answer to an admitted beat.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is the record now. `steady`: so was one of the same [`Playback`](super::beat::Playback), and reads returned
    /// it. `kept_dur`: the length that it keeps from the record before, milliseconds; 0 = it has its own, or none.
    Written { steady: bool, kept_dur: u64 },
    /// It is the record already.
    Same,
    /// `record` comes along when a stored one was the cause or stands beside it.
    Rejected { reason: Reason, record: Option<Record> },
}

impl Verdict {
    /// It is the record now, and has its own length.
    pub const fn written(steady: bool) -> Self {
        Verdict::Written { steady, kept_dur: 0 }
    }

    /// Whether `beat`, of which this is the answer, only says that playback goes on: the stored record was and is
    /// `playing`, of the same session. The ack of such a beat may be late.
    pub fn is_steady(&self, beat: &Beat) -> bool {
        let is_playing = beat.playback().is_playing();
        match self {
            Verdict::Same => is_playing,
            Verdict::Written { steady, .. } => is_playing && *steady,
            Verdict::Rejected { .. } => false,
        }
    }
}

/// The records of a beat that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// As it was stored, whether reads returned it or not.
    pub before: Option<Record>,
    pub after: Record,
}

/// Judges `beat` by what is kept of the user and the content, and applies it to `row` when it wins: only then there are
/// records, too.
pub fn judge(
    user: &UserRow,
    row: &mut ContentRow,
    beat: &Beat,
    device: &Arc<str>,
    moment: &Moment,
) -> (Verdict, Option<Written>) {
    let rejected = |reason, record: Option<&Record>| (Verdict::Rejected { reason, record: record.cloned() }, None);
    if user.recording.covers(beat.at) {
        return rejected(Reason::NotRecording, None);
    }
    let live = row.live(user, moment.horizon);
    let tombstone = row.tombstone.map_or(0, |tombstone| tombstone.at);
    // A record that reads do not return counts as gone: one store removes it at once, another later.
    let floor = if live.is_none() { user.floor } else { 0 };
    if beat.at <= user.watermark.max(tombstone).max(floor) {
        return rejected(Reason::Superseded, live);
    }
    match live.map(|record| beat.stamp().cmp(&record.stamp())) {
        Some(std::cmp::Ordering::Equal) => (Verdict::Same, None),
        Some(std::cmp::Ordering::Less) => rejected(Reason::Superseded, live),
        Some(std::cmp::Ordering::Greater) | None => {
            let goes_on = |record: &&Record| {
                // Time played while recording was paused earns nothing: after a pause the counting begins anew.
                record.session == beat.session && !user.recording.paused_between(record.at, beat.at)
            };
            let going_on = live.filter(goes_on);
            let credit = Credit::of(beat, going_on.map(|record| record.credit), moment.day, moment.now);
            let steady = live.is_some_and(|record| record.playback() == beat.playback());
            let after = Record::of(beat, device.clone(), row.last_version(), credit).keeping_length_of(live);
            let kept_dur = if beat.length() == 0 { after.dur } else { 0 };
            let before = row.record.replace(after.clone());
            (Verdict::Written { steady, kept_dur }, Some(Written { before, after }))
        }
    }
}
