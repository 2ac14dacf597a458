//! Steady beats that wait for later ones of their session, so that one commit keeps several (`store.steady_hold`).
//!
//! A beat is held if the connection knows that the stored record plays in its session, and that no reward can follow
//! from it. It is a slot that was opened but not submitted: it is not acked, and anything else on the connection
//! submits it first. So the order of commits is that of the frames.

use std::time::{Duration, Instant};

use super::Conversation;
use super::state::State;
use crate::domain::ingest::coalesce::Slot;
use crate::domain::ingest::source::Source;
use crate::edge::protocol::frame::Beats;
use crate::model::beat::{Beat, Playback};
use crate::model::ids::Content;

#[derive(Default)]
pub struct SteadyHold {
    /// What the last frame of beats says: one beat, in a slot of its own. `None` as well when the record may have been
    /// changed by anything else since, or a beat was rejected.
    last: Option<(Content, Playback)>,
    /// The beat of that frame is stored.
    is_stored: bool,
    /// Boxed, since mostly nothing waits.
    waiting: Option<Box<Waiting>>,
}

struct Waiting {
    slot: Slot,
    until: Instant,
}

impl SteadyHold {
    /// These beats were submitted, in so many new slots.
    pub fn submitted(&mut self, beats: &[Beat], slots: usize) {
        self.is_stored = false;
        self.last = match beats {
            [beat] if slots == 1 => Some((beat.content, beat.playback())),
            _ => None,
        };
    }

    /// All beats are answered.
    pub fn answered(&mut self) {
        self.is_stored = true;
    }

    /// The record may be another by now, or has not become what was sent.
    pub fn record_changed(&mut self) {
        self.last = None;
    }

    fn goes_on(&self, beat: &Beat) -> bool {
        beat.playback().is_playing() && self.is_stored && self.last == Some((beat.content, beat.playback()))
    }
}

impl Conversation {
    /// Holds the beat of this frame, or has it join the one that is held. False: it must be committed now.
    pub(super) fn hold(&mut self, seq: u32, beats: &Beats, now: Instant) -> bool {
        let [beat] = &*beats.items else { return false };
        let Some((hold, delay)) = self.may_hold() else { return false };
        let source = Source {
            inbox: self.registration.inbox(),
            device: &self.device,
            seq,
            read: now,
            flag: beats.flag,
            decisions: &self.decisions,
        };
        let Some(slot) = self.intake().hold(&source, beat) else { return false };
        let goes_on = self.steady.as_ref().is_some_and(|steady| steady.goes_on(beat));
        let is_steady = goes_on && self.context.connect_lookup.is_all_decided(beat.content, slot.known, now);
        if !is_steady {
            return false;
        }
        let Some(steady) = &mut self.steady else { return false };
        match &mut steady.waiting {
            Some(waiting) if waiting.slot.takes(&slot) => {
                waiting.slot.join(slot);
                self.beats.frames.submitted(seq, 0, 1);
            }
            Some(_) => return false,
            None if self.beats.frames.slots() > 0 => return false,
            None => {
                steady.waiting = Some(Box::new(Waiting { slot, until: now + hold.min(delay) }));
                self.beats.frames.submitted(seq, 1, 1);
                self.beats.due.get_or_insert(now + delay);
                self.inbox().holds();
            }
        }
        self.intake().metrics.held.inc();
        true
    }

    /// The answer to what was held may be there untold, since its ack may be late: until it is seen nothing is held.
    pub(super) fn look_for_answers(&mut self, now: Instant) {
        if self.held_until().is_none() && self.beats.frames.slots() > 0 && self.may_hold().is_some() {
            self.advance(now);
        }
    }

    /// For how long a beat may be held, and its ack be late.
    pub(super) fn may_hold(&self) -> Option<(Duration, Duration)> {
        let hold = Some(self.context.steady_hold).filter(|hold| !hold.is_zero())?;
        let delay = self.ack_delay.filter(|delay| !delay.is_zero())?;
        let free = matches!(self.state, State::Open) && self.intake().submit_queue.has_room();
        free.then_some((hold, delay))
    }

    /// Until when a beat is held, if one is.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.steady.as_ref()?.waiting.as_ref().map(|waiting| waiting.until)
    }

    /// The record of what plays may be another by now: what is held is committed, and the next beat is not steady.
    pub(super) fn record_changes(&mut self, now: Instant) {
        self.commit_held(now);
        self.steady.iter_mut().for_each(|steady| steady.record_changed());
    }

    /// Commits what is held, and ends with the answer to it. Until then the connection stays among those of its user,
    /// so that a read waits for the answer, too.
    pub fn part(mut self, now: Instant) -> impl Future<Output = ()> + use<> {
        self.commit_held(now);
        let parting = self.inbox().commit_held().map(|committed| (committed, self.registration));
        async move {
            if let Some((committed, registration)) = parting {
                // It is dropped as it is answered.
                let _ = committed.await;
                drop(registration);
            }
        }
    }

    /// Commits what is held, if anything is.
    pub fn commit_held(&mut self, now: Instant) {
        if let Some(waiting) = self.steady.as_mut().and_then(|steady| steady.waiting.take()) {
            self.intake().submit_held(waiting.slot, now);
        }
    }
}
