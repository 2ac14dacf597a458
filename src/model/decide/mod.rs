//! Decisions: the outcome of each change.
//!
//! ```text
//! change, moment ─▶ Decider ─▶ outcome, transitions
//!                      ▲
//!  StoredUser: reads ─▶ Draft ─▶ Drafted: the writes
//! ```
//!
//! This is the only place that decides beats, deletions, clears, switches of recording, and erasures. It does no I/O
//! and reads no clock: a store reads the stored state ([`StoredUser`]), and writes the changes ([`Drafted`]).

mod cap;
#[cfg(test)]
mod cold_tests;
mod draft;
#[cfg(test)]
mod draft_properties;
mod reward;
mod stored;

use std::sync::Arc;

pub use draft::{Draft, DraftClaim, DraftRow, Drafted, Pruned};
pub use stored::{AtHand, DeadContents, StoredUser};

use super::beat::Beat;
use super::change::{Action, Decided, Outcome};
use super::forgetting::ContentRow;
use super::ids::{Content, UserId};
use super::moment::Moment;
use super::record::Record;
use super::recording::Switch;
use super::rewards::rewarding::Rewarding;
use super::rewards::rule::RuleSet;
use super::rule::{AHEAD_MS_MAX, Reason, Verdict, Written, judge};
use super::transition::{Cause, Transition};

/// Decides the changes of one group, one after the other.
pub struct Decider<'g> {
    moment: Moment,
    /// Contents kept per user, at most.
    contents_max: u32,
    rewards: &'g Rewarding,
    claims_max: u64,
    claims: u64,
    /// The index in the group of the change that is being decided; `user` is its user.
    index: usize,
    user: UserId,
    decided: Vec<Decided>,
    transitions: Transitions,
}

/// Transitions, each with the index of its change, in the order of the changes.
pub type Transitions = Vec<(usize, Transition)>;

impl<'g> Decider<'g> {
    /// `horizon`: older records have expired, milliseconds.
    pub fn new(now: u64, horizon: u64, contents_max: u32, rewards: &'g Rewarding) -> Self {
        Decider {
            moment: Moment { now, horizon, day: rewards.today.day },
            contents_max,
            rewards,
            claims_max: rewards.claims_max,
            claims: 0,
            index: 0,
            user: UserId(0),
            decided: Vec::new(),
            transitions: Vec::new(),
        }
    }

    /// Reserves room for the transitions of this many changes.
    pub fn for_changes(mut self, changes: usize) -> Self {
        self.transitions.reserve_exact(changes);
        self
    }

    /// Limits the claims to this count.
    pub fn with_claims_max(self, claims_max: u64) -> Self {
        Decider { claims_max, ..self }
    }

    /// The decisions of rules, in the order of the changes; and the transitions of records once everything is stored.
    pub fn finish(self) -> (Vec<Decided>, Transitions) {
        (self.decided, self.transitions)
    }

    /// Decides one change of `user`, whose draft is given. `index`: the index of the change in the group.
    pub fn decide<S: StoredUser>(
        &mut self,
        draft: &mut Draft<S>,
        index: usize,
        user: UserId,
        action: &Action,
    ) -> Result<Outcome, S::Error> {
        (self.index, self.user) = (index, user);
        match action {
            Action::Beat { beat, earlier, device, asks } => self.beats(draft, beat, earlier, device, *asks),
            Action::Delete { contents, at } => self.delete(draft, contents, *at),
            Action::Clear { at } => self.clear(draft, *at),
            Action::Recording { paused, at } => self.recording(draft, *paused, *at),
            Action::Erase { at } => self.erase(draft, *at),
            Action::Prune { horizon } => self.prune(draft, *horizon),
        }
    }

    /// Decides from the newest beat back to the first that recording accepts, or to the oldest.
    fn beats<S: StoredUser>(
        &mut self,
        draft: &mut Draft<S>,
        newest: &Beat,
        earlier: &[Beat],
        device: &Arc<str>,
        asks: RuleSet,
    ) -> Result<Outcome, S::Error> {
        let mut verdict = self.beat(draft, &newest.after(earlier), device, asks)?;
        let mut skipped = 0;
        for (before, beat) in earlier.iter().enumerate().rev() {
            if !matches!(verdict, Verdict::Rejected { reason: Reason::NotRecording, .. }) {
                break;
            }
            skipped += 1;
            verdict = self.beat(draft, &beat.after(&earlier[..before]), device, asks)?;
        }
        Ok(Outcome::Beat { verdict, skipped })
    }

    fn beat<S: StoredUser>(
        &mut self,
        draft: &mut Draft<S>,
        beat: &Beat,
        device: &Arc<str>,
        asks: RuleSet,
    ) -> Result<Verdict, S::Error> {
        let (forgetting, kept) = draft.content(beat.content)?;
        let (new, was_cold) = (kept.is_new(), kept.is_cold);
        let (verdict, written) = judge(forgetting, &mut kept.row, beat, device, &self.moment);
        let Some(Written { before, after }) = written else { return Ok(verdict) };
        kept.change();
        if new && !self.make_room(draft, beat.content)? {
            draft.content(beat.content)?.1.row = ContentRow::default();
            return Ok(Verdict::Rejected { reason: Reason::Superseded, record: None });
        }
        draft.plays(beat.content);
        self.reward(draft, beat, &after, asks)?;
        let (user, content) = (self.user, beat.content);
        let before = before.filter(|_| !was_cold);
        let transition = Transition { user, content, before, after: Some(after), cause: Cause::Beat };
        self.transitions.push((self.index, transition));
        Ok(verdict)
    }

    fn delete<S: StoredUser>(
        &mut self,
        draft: &mut Draft<S>,
        contents: &[Content],
        at: u64,
    ) -> Result<Outcome, S::Error> {
        let horizon = self.moment.horizon;
        let newest = || {
            contents.iter().try_fold(0, |newest: u64, content| {
                let (forgetting, kept) = draft.content(*content)?;
                Ok(newest.max(kept.row.live(forgetting, horizon).map_or(0, |record| record.at)))
            })
        };
        if !self.may_be(at, newest)? {
            return Ok(Outcome::Ahead);
        }
        let mut moved = Vec::new();
        for content in contents {
            let (_, kept) = draft.content(*content)?;
            let (new, was_cold) = (kept.is_new(), kept.is_cold);
            // A row that has left the store stays away, unless it changes.
            if was_cold && kept.row.record.as_ref().is_some_and(|record| record.at > at) {
                continue;
            }
            let Some(gone) = kept.row.delete(at) else { continue };
            kept.change();
            self.tell_gone(gone.filter(|_| !was_cold), Cause::Delete);
            moved.push(*content);
            if new && !self.make_room(draft, *content)? {
                draft.content(*content)?.1.row = ContentRow::default();
                cap::raise_floor(draft, at);
            }
        }
        Ok(Outcome::Deleted { moved, at })
    }

    fn clear<S: StoredUser>(&self, draft: &mut Draft<S>, at: u64) -> Result<Outcome, S::Error> {
        if !self.may_be(at, || draft.newest_record(self.moment.horizon))? {
            return Ok(Outcome::Ahead);
        }
        let mut row = draft.forgetting().clone();
        let moved = row.clear(at);
        if moved {
            draft.put_forgetting(row);
        }
        Ok(Outcome::Cleared { moved, at })
    }

    fn recording<S: StoredUser>(&self, draft: &mut Draft<S>, paused: bool, at: u64) -> Result<Outcome, S::Error> {
        if !self.may_be(at, || draft.newest_record(self.moment.horizon))? {
            return Ok(Outcome::Ahead);
        }
        let mut row = draft.forgetting().clone();
        let before = row.recording.paused();
        let is_new = row.recording.switch(Switch { at, paused }, self.moment.horizon);
        let paused = row.recording.paused();
        if is_new {
            draft.put_forgetting(row);
        }
        Ok(Outcome::Recording { changed: paused != before, paused })
    }

    /// A repetition changes nothing, so that one that comes late does not erase what was made since, or take back claims.
    fn erase<S: StoredUser>(&mut self, draft: &mut Draft<S>, at: u64) -> Result<Outcome, S::Error> {
        if !self.may_be(at, || draft.newest_record(self.moment.horizon))? {
            return Ok(Outcome::Ahead);
        }
        let mut row = draft.forgetting().clone();
        if at <= row.erased {
            return Ok(Outcome::Erased { at: row.watermark, resumed: false, moved: false });
        }
        let rows = draft.erase(row.watermark.max(at), |record| self.tell_gone(Some(record), Cause::Erase))?;
        draft.erase_claims()?;
        let was_paused = row.recording.paused();
        row.erase(at, &rows);
        let (at, resumed) = (row.watermark, was_paused && !row.recording.paused());
        draft.put_forgetting(row);
        Ok(Outcome::Erased { at, resumed, moved: true })
    }

    fn prune<S: StoredUser>(&mut self, draft: &mut Draft<S>, horizon: u64) -> Result<Outcome, S::Error> {
        let horizon = horizon.min(self.moment.horizon);
        let more = draft.prune(horizon, |record, cause| self.tell_gone(Some(record), cause))?;
        let mut row = draft.forgetting().clone();
        // A clear stays as long as it hides any record.
        if !more && row.prune(horizon) {
            draft.put_forgetting(row);
        }
        Ok(Outcome::Pruned { more })
    }

    fn tell_gone(&mut self, gone: Option<Record>, cause: Cause) {
        let transition = gone.map(|record| Transition::gone(self.user, record, cause));
        self.transitions.extend(transition.map(|transition| (self.index, transition)));
    }

    /// Whether a forgetting may hold from this moment on: it is not ahead of the clock, or not newer than the newest
    /// record concerned (0 = none). `newest` is called only if it matters.
    fn may_be<E>(&self, at: u64, newest: impl FnOnce() -> Result<u64, E>) -> Result<bool, E> {
        Ok(at <= self.moment.now + AHEAD_MS_MAX || at <= newest()?)
    }
}
