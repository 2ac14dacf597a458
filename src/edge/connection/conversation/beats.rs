//! Beats of a conversation: submitting them, acking them, and learning which rules are decided.

use std::num::NonZeroU64;
use std::time::Instant;

use super::Conversation;
use super::state::State;
use crate::protocol::frame::{Beats, ServerFrame};
use domain::ingest::source::Source;
use model::rewards::claim::ClaimKey;
use model::rewards::reward_notice::RewardNotice;

impl Conversation {
    pub(super) fn take_beats(&mut self, seq: u32, beats: &Beats, now: Instant) {
        self.strikes = 0;
        self.write_name_again(now);
        let misnamed = self.context.misnamed(&beats.names);
        let source = Source {
            inbox: self.registration.inbox(),
            device: &self.device,
            seq,
            read: now,
            flag: beats.flag,
            decisions: &self.decisions,
            misnamed: &misnamed,
            hold_until: self.hold_until(beats, now),
        };
        let taken = self.intake().beats(&source, &beats.items);
        self.beats.frames.submitted(seq, taken.slots, beats.items.len() - taken.rejected.len());
        self.beats.rejected.extend(taken.rejected);
        self.beats.clock = self.beats.clock.max(taken.clock.and_then(NonZeroU64::new));
        if let Some(delay) = self.ack_delay.filter(|delay| taken.slots > 0 && !delay.is_zero()) {
            self.beats.due.get_or_insert(now + delay.get());
        }
        if self.beats.frames.slots() == 0 || !self.beats.rejected.is_empty() {
            self.send_acks(now);
        }
        self.defer_acks();
    }

    /// Has an erased user's name stored again, so that events of new beats have it.
    fn write_name_again(&mut self, now: Instant) {
        let Some(own) = self.name.as_mut().filter(|own| own.dropped.is_some()) else { return };
        own.dropped = own.dropped.filter(|until| now < *until);
        if let Some(written) = self.context.authenticator.welcome_again(&self.whose()) {
            // Not waited for: if it fails, the next welcome writes the text.
            tokio::spawn(written);
        }
    }

    /// Until when the only beat of a frame may wait for later ones. `None`: not at all, since its client does not allow
    /// late acks, a list waits, or a reward can follow from it.
    fn hold_until(&self, beats: &Beats, now: Instant) -> Option<Instant> {
        let [beat] = &*beats.items else { return None };
        let hold = self.context.steady_hold.min(self.ack_delay?.get());
        if hold.is_zero() || !matches!(self.state, State::Open) {
            return None;
        }
        let known = self.decisions.of(beat.content, beats.flag);
        self.context.connect_lookup.is_all_decided(beat.content, known, now).then(|| now + hold)
    }

    /// Has a beat committed that the queue may hold.
    pub(super) fn release_beats(&self) {
        self.intake().submit_queue.release(self.connection());
    }

    /// Tells the inbox when its answers may wait for this conversation's own clock.
    pub(super) fn defer_acks(&mut self) {
        let patient = self.beats.due.is_some() && self.listens();
        if patient != self.beats.patient {
            self.beats.patient = patient;
            self.inbox().defer_acks(patient);
        }
    }

    pub(super) fn send_acks(&mut self, now: Instant) {
        let flag = || self.decisions.flag(self.context.connect_lookup.day_at(now));
        self.replies.add(self.beats.ack(flag).map(ServerFrame::Ack));
    }

    /// Remembers which rules are decided. Returns the new claims.
    pub(super) fn learn(&mut self, news: RewardNotice) -> Vec<ClaimKey> {
        news.flag.into_iter().for_each(|day| self.decisions.decided_user(day));
        news.contents.into_iter().for_each(|(day, content)| self.decisions.decided_content(day, content));
        news.claims
    }
}
